// Clip: min(max(x, low), high). The bounds are attributes when they are known numbers, else optional inputs 1 and 2.
// Inference and reference follow from the expression.
#include <limits>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Result<PointwiseExpr> clip_expression(const Node& node) {
  WOOTZ_RETURN_IF_ERROR(check_operand(node, 0, Accept::kNumeric));
  const DType type = node.input(0)->dtype();
  for (int i : {1, 2}) {
    const Value* bound = node.input(i);
    if (bound == nullptr) continue;
    if (bound->dtype() != type)
      return refuse(node, fmt::format("the data is {} and bound '{}' is {}, they must be of one type", dtype_name(type),
                                      bound->name(), dtype_name(bound->dtype())));
    if (bound->rank() > 1 || (bound->rank() == 1 && bound->shape()[0].is_const() && bound->shape()[0].value() != 1))
      return refuse(node, fmt::format("bound '{}' has shape {}, it must be one number", bound->name(),
                                      shape_to_string(bound->shape())));
  }
  constexpr double kInf = std::numeric_limits<double>::infinity();
  PointwiseExpr expr;
  expr.num_inputs = static_cast<uint16_t>(node.num_inputs());
  uint16_t x = expr.input(0, type);
  const bool inputs = node.input(1) != nullptr || node.input(2) != nullptr;
  const bool low = node.has_attr("min"), high = node.has_attr("max");
  if (is_float(type) && !inputs && (low || high)) {
    x = expr.push(PwOp::kClip, type, x, 0, 0, node.attr_float("min", -kInf), node.attr_float("max", kInf));
  } else {
    if (node.input(1) != nullptr)
      x = expr.push(PwOp::kMax, type, x, expr.input(1, type));
    else if (low)
      x = expr.push(PwOp::kMax, type, x, expr.constant(node.attr_float("min"), type));
    if (node.input(2) != nullptr)
      x = expr.push(PwOp::kMin, type, x, expr.input(2, type));
    else if (high)
      x = expr.push(PwOp::kMin, type, x, expr.constant(node.attr_float("max"), type));
  }
  expr.outputs = {x};
  return expr;
}

const OpDef kClip{.name = "Clip",
                  .max_inputs = 3,
                  .attributes = {{"min", AttrKind::kFloat}, {"max", AttrKind::kFloat}},
                  .lowering = Lowering::kPointwise,
                  .pointwise = clip_expression,
                  .traits = {}};
const OpDef* const kClipDefs[] = {&kClip};

}  // namespace

std::span<const OpDef* const> clip_ops() { return kClipDefs; }

}  // namespace wootz::ops
