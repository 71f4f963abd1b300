// Require: passes its operand on where a condition is what it must be, and ends the run with a message where it is not.
// It stands for the branch of an If that cannot be computed, and for what a decision while building relied on.
#include "ops/control/control.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

// Inputs: condition, operand.
Status infer_require(InferContext& ctx) {
  if (ctx.dtype(0) != DType::kBool) return ctx.fail("condition of type {}", dtype_name(ctx.dtype(0)));
  if (const Dim elements = volume(ctx.shape(0)); elements.is_const() && elements.value() != 1)
    return ctx.fail("condition of shape {}; it must be one element", shape_to_string(ctx.shape(0)));
  ctx.set_output(0, ctx.dtype(1), ctx.shape(1));
  if (std::optional<std::vector<Dim>> values = ctx.dims_value(1); values && ctx.rank(1) <= 1)
    ctx.set_output_values(0, std::move(*values));
  return {};
}

Status reference_require(EvalContext& ctx) {
  if (ctx.in(0).volume() != 1) return invalid_argument("a condition of shape {}", ctx.in(0).dims().to_string());
  if ((ctx.in(0).get_i64(0) != 0) != (ctx.node.attr_int("expected") != 0))
    return invalid_argument("{}", ctx.node.attr_string("message"));
  ctx.outputs[0] = ctx.in(1);
  return {};
}

}  // namespace

const OpDef& require_op() {
  static const OpDef kRequire{.name = "Require",
                              .min_inputs = 2,
                              .max_inputs = 2,
                              .attributes = {{"expected", AttrKind::kInt, true}, {"message", AttrKind::kString, true}},
                              .infer = infer_require,
                              .reference = reference_require,
                              .traits = {.foldable = false, .has_side_effects = true}};
  return kRequire;
}

}  // namespace wootz::ops
