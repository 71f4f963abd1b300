// The oracle of the expression language over many elements: what evaluate() says of each, instruction by instruction.
#pragma once

#include <span>
#include <vector>

#include "base/pointwise.h"

namespace wootz {

// inputs[k * count + e]: element e of operand k; outputs alike. `scratch` is kept between calls so that nothing is
// allocated.
void evaluate_block(const PointwiseExpr& expr, size_t count, std::span<const PwScalar> inputs,
                    std::span<PwScalar> outputs, std::vector<PwScalar>* scratch);

}  // namespace wootz
