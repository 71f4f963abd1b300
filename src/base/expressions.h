// Putting expressions together.
#pragma once

#include <functional>
#include <vector>

#include "base/pointwise.h"

namespace wootz {

// Adds what `e` computes to `to`: `operand` gives the value in `to` that stands for a load of e's. Returns the values
// of e's results there.
std::vector<uint16_t> append_expression(PointwiseExpr* to, const PointwiseExpr& e,
                                        const std::function<uint16_t(const PwInstr& load)>& operand);

}  // namespace wootz
