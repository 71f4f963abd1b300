// One expression of a shape program, for values that become known one after the other.
#pragma once

#include "backend/program.h"

namespace wootz {

// Works out expression `index`, if what it needs is known: true. Errors: as evaluate_shapes().
Result<bool> evaluate_shape(const Program& program, size_t index, std::span<const int64_t> symbol_values,
                            ShapeValues* out);

}  // namespace wootz
