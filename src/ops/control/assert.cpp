// Assert: ends the run with a message where an element of its condition is false. Its result, true, has no reader: a
// step has one.
#include "ops/control/control.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_assert(InferContext& ctx) {
  if (ctx.dtype(0) != DType::kBool) return ctx.fail("condition of type {}", dtype_name(ctx.dtype(0)));
  ctx.set_output(0, DType::kBool, {});
  return {};
}

Status reference_assert(EvalContext& ctx) {
  for (int64_t i = 0; i < ctx.in(0).volume(); ++i)
    if (ctx.in(0).get_i64(i) == 0) return invalid_argument("{}", ctx.node.attr_string("message"));
  ctx.outputs[0].set_i64(0, 1);
  return {};
}

}  // namespace

const OpDef& assert_op() {
  static const OpDef kAssert{.name = "Assert",
                             .attributes = {{"message", AttrKind::kString, true}},
                             .infer = infer_assert,
                             .reference = reference_assert,
                             .traits = {.foldable = false, .has_side_effects = true}};
  return kAssert;
}

}  // namespace wootz::ops
