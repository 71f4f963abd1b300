// Local rewrites of a pointwise expression: common subexpressions, constants, and composite activations recognized from
// their spelled-out forms (GELU, SiLU, HardSwish, Mish, ReLU, Clip), so that kernels and libraries see one operation.
#pragma once

#include "base/pointwise.h"

namespace wootz {

PointwiseExpr simplify_expression(const PointwiseExpr& expr);

}  // namespace wootz
