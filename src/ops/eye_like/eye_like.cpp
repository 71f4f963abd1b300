// EyeLike: ones on a diagonal, in the shape of the input (whose values are not read).
#include <algorithm>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_eye_like(InferContext& ctx) {
  if (ctx.rank(0) != 2) return ctx.fail("input is {}, its rank must be 2", shape_to_string(ctx.shape(0)));
  const DType dtype = ctx.node().attr_dtype("dtype", ctx.dtype(0));
  if (!accepts(Accept::kAny, dtype)) return ctx.fail("dtype is {}", dtype_name(dtype));
  ctx.set_output(0, dtype, ctx.shape(0));
  return Status();
}

Status eye_like_reference(EvalContext& ctx) {
  const int64_t rows = ctx.outputs[0].dims()[0], columns = ctx.outputs[0].dims()[1];
  const int64_t k = std::clamp(ctx.node.attr_int("k", 0), -rows, columns);
  for (int64_t r = std::max<int64_t>(0, -k); r < rows && r + k < columns; ++r)
    ctx.outputs[0].set_i64(r * columns + r + k, 1);
  return Status();
}

const OpDef kEyeLike{.name = "EyeLike",
                     .attributes = {{"dtype", AttrKind::kDType}, {"k", AttrKind::kInt}},
                     .infer = infer_eye_like,
                     .reference = eye_like_reference,
                     .lowering = Lowering::kFill,
                     .traits = {}};
const OpDef* const kEyeLikeDefs[] = {&kEyeLike};

}  // namespace

std::span<const OpDef* const> eye_like_ops() { return kEyeLikeDefs; }

}  // namespace wootz::ops
