// Shape and Size: sizes as integers. They are known symbolically, so that no step is needed where the sizes are.
#include <algorithm>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

struct AxisRange {
  int64_t first, last;
};

AxisRange shape_range(const Node& node, int rank) {
  const auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  AxisRange r{clamp(node.attr_int("start", 0)), node.has_attr("end") ? clamp(node.attr_int("end")) : rank};
  r.last = std::max(r.first, r.last);
  return r;
}

Status infer_shape(InferContext& ctx) {
  const auto [first, last] = shape_range(ctx.node(), ctx.rank(0));
  std::vector<Dim> values(ctx.shape(0).begin() + first, ctx.shape(0).begin() + last);
  ctx.set_output(0, DType::kI64, {Dim(last - first)});
  ctx.set_output_values(0, std::move(values));
  return Status();
}

Status shape_reference(EvalContext& ctx) {
  const auto [first, last] = shape_range(ctx.node, ctx.in(0).rank());
  for (int64_t i = first; i < last; ++i) ctx.outputs[0].set_i64(i - first, ctx.in(0).dims()[static_cast<size_t>(i)]);
  return Status();
}

Status infer_size(InferContext& ctx) {
  ctx.set_output(0, DType::kI64, {});
  ctx.set_output_values(0, {volume(ctx.shape(0))});
  return Status();
}

Status size_reference(EvalContext& ctx) {
  ctx.outputs[0].set_i64(0, ctx.in(0).volume());
  return Status();
}

const OpDef kShape{.name = "Shape",
                   .attributes = {{"start", AttrKind::kInt}, {"end", AttrKind::kInt}},
                   .infer = infer_shape,
                   .reference = shape_reference,
                   .traits = {.host_shape = true}};
const OpDef kSize{
    .name = "Size", .attributes = {}, .infer = infer_size, .reference = size_reference, .traits = {.host_shape = true}};
const OpDef* const kShapeOfDefs[] = {&kShape, &kSize};

}  // namespace

std::span<const OpDef* const> shape_of_ops() { return kShapeOfDefs; }

}  // namespace wootz::ops
