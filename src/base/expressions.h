// Putting expressions together.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/pointwise.h"

namespace wootz {

// Adds what `e` computes to `to`: `operand` gives the value in `to` that stands for a load of e's. Returns the values
// of e's results there.
std::vector<uint16_t> append_expression(PointwiseExpr* to, const PointwiseExpr& e,
                                        const std::function<uint16_t(const PwInstr& load)>& operand);

// The expression without operand `added`, which it only adds to operand 0, before anything else: operand 0 of what is
// left is the sum, those after `added` are one less. Nullopt: it does otherwise.
std::optional<PointwiseExpr> without_addend(const PointwiseExpr& e, uint16_t added);
// The other way round, of an expression, or none, over so many operands: what is added to operand 0 first, both of this
// type, is one more, the last.
PointwiseExpr with_addend(const PointwiseExpr& e, DType type, uint16_t operands);

}  // namespace wootz
