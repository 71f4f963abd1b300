// The most that a result can take.
#pragma once

#include <optional>

#include "backend/program.h"

namespace wootz {

// Bytes of a tensor at the most, under symbols of which some are known (others -1: anywhere in the profile's range).
// Data-dependent extents are bounded where the step that finds them picks from an operand. None: nothing
// bounds it.
std::optional<int64_t> output_bound(const Program& program, TensorIndex tensor, size_t profile,
                                    const std::vector<int64_t>& symbols);

}  // namespace wootz
