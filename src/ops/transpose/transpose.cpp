// Transpose: axis i of the result is axis perm[i] of the input.
#include <fmt/ranges.h>

#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_transpose(InferContext& ctx) {
  const std::vector<int64_t> perm = ctx.node().attr_ints("perm");
  const Result<std::vector<int64_t>> axes = normalize_axes(perm, ctx.rank(0));
  if (!axes.ok() || perm.size() != ctx.shape(0).size())
    return ctx.fail("perm [{}] does not order the axes of {}", fmt::join(perm, ","), shape_to_string(ctx.shape(0)));
  Shape shape;
  for (int64_t axis : *axes) shape.push_back(ctx.shape(0)[static_cast<size_t>(axis)]);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  if (std::optional<std::vector<Dim>> values = ctx.dims_value(0); values && ctx.rank(0) <= 1)
    ctx.set_output_values(0, std::move(*values));
  return Status();
}

Status transpose_reference(EvalContext& ctx) {
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> perm, normalize_axes(ctx.node.attr_ints("perm"), ctx.in(0).rank()));
  const Dims from = ctx.in(0).dims().strides(), to = ctx.outputs[0].dims().strides();
  StridedCopy walk;
  for (size_t i = 0; i < perm.size(); ++i)
    walk.axis(ctx.outputs[0].dims()[i], from[static_cast<size_t>(perm[i])], to[i]);
  strided_copy(ctx.in(0), ctx.outputs[0], walk);
  return Status();
}

const OpDef kTranspose{.name = "Transpose",
                       .attributes = {{"perm", AttrKind::kInts, true}},
                       .infer = infer_transpose,
                       .reference = transpose_reference,
                       .lowering = Lowering::kMove,
                       .traits = {}};
const OpDef* const kTransposeDefs[] = {&kTranspose};

}  // namespace

std::span<const OpDef* const> transpose_ops() { return kTransposeDefs; }

}  // namespace wootz::ops
