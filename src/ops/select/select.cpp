// Where: elementwise choice. Inference and reference follow from the expression.
#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Result<PointwiseExpr> where_expression(const Node& node) {
  WOOTZ_RETURN_IF_ERROR(check_operand(node, 0, Accept::kBool));
  WOOTZ_RETURN_IF_ERROR(check_operand(node, 1, Accept::kAny));
  WOOTZ_RETURN_IF_ERROR(check_operand(node, 2, Accept::kAny));
  const DType type = node.input(1)->dtype();
  if (node.input(2)->dtype() != type)
    return refuse(node, fmt::format("the choices are {} and {}, they must be of one type", dtype_name(type),
                                    dtype_name(node.input(2)->dtype())));
  PointwiseExpr expr;
  expr.num_inputs = 3;
  const uint16_t condition = expr.input(0, DType::kBool);
  const uint16_t a = expr.input(1, type), b = expr.input(2, type);
  expr.outputs = {expr.push(PwOp::kSelect, type, condition, a, b)};
  return expr;
}

const OpDef kWhere{.name = "Where",
                   .min_inputs = 3,
                   .max_inputs = 3,
                   .attributes = {},
                   .lowering = Lowering::kPointwise,
                   .pointwise = where_expression,
                   .traits = {}};
const OpDef* const kSelectDefs[] = {&kWhere};

}  // namespace

std::span<const OpDef* const> select_ops() { return kSelectDefs; }

}  // namespace wootz::ops
