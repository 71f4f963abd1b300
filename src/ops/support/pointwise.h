// What follows from an op being pointwise: inference, shape values and the reference come from its expression.
#pragma once

#include "ir/op_def.h"

namespace wootz {

// The expression of a node: its op's builder, or the attribute "expr" of a fused Pointwise node.
Result<PointwiseExpr> node_expression(const Node& node);

// Elements of an integer expression over tracked shape values; nullopt when some part is unknown or not integral.
std::optional<std::vector<Dim>> expression_shape_values(const PointwiseExpr& expr, const InferContext& ctx,
                                                        size_t output = 0);

// Evaluates an expression element by element over broadcast operands. `dims` is the shape of the result.
Result<std::vector<HostTensor>> evaluate_expression(const PointwiseExpr& expr,
                                                    const std::vector<const HostTensor*>& inputs, const Dims& dims);

}  // namespace wootz
