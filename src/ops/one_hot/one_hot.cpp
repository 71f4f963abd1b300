// OneHot: a new axis of `depth` elements (input 1), `on` at the index and `off` elsewhere (input 2 is {off, on}).
// Negative indices count from the end; an index outside the axis marks nothing.
#include <cmath>

#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_one_hot(InferContext& ctx) {
  const Result<int> axis = normalize_axis(ctx.node().attr_int("axis", -1), ctx.rank(0) + 1);
  if (!axis.ok()) return ctx.fail("{} (indices are {})", axis.status().message(), shape_to_string(ctx.shape(0)));
  if (!accepts(Accept::kNumeric, ctx.dtype(0)) || !accepts(Accept::kNumeric, ctx.dtype(1)))
    return ctx.fail("indices and depth are {} and {}, they must be numbers", dtype_name(ctx.dtype(0)),
                    dtype_name(ctx.dtype(1)));
  const Dim depths = volume(ctx.shape(1)), pair = volume(ctx.shape(2));
  if ((depths.is_const() && depths.value() != 1) || (pair.is_const() && pair.value() != 2))
    return ctx.fail("depth has shape {} and values {}", shape_to_string(ctx.shape(1)), shape_to_string(ctx.shape(2)));
  Dim depth;
  if (const std::optional<std::vector<Dim>> known = ctx.dims_value(1))
    depth = known->front();
  else if (ctx.constant(1) != nullptr)
    depth = Dim(ctx.constant(1)->get_i64(0));
  else
    depth = ctx.data_dependent(0, *axis);
  Shape shape = ctx.shape(0);
  shape.insert(shape.begin() + *axis, depth);
  ctx.set_output(0, ctx.dtype(2), std::move(shape));
  return Status();
}

Status one_hot_reference(EvalContext& ctx) {
  const HostTensor &indices = ctx.in(0), &values = ctx.in(2);
  HostTensor& y = ctx.outputs[0];
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", -1), indices.rank() + 1));
  const int64_t depth = y.dims()[static_cast<size_t>(axis)], inner = span_volume(indices.dims(), axis, indices.rank());
  fill_elements(values, 0, y, 0, y.volume());
  for (int64_t i = 0, n = indices.volume(); i < n; ++i) {
    const double written = indices.get_f64(i);
    if (is_float(indices.dtype()) && written != std::floor(written)) continue;
    const int64_t index = indices.get_i64(i);
    if (index < -depth || index >= depth) continue;
    copy_elements(values, 1, y, (i / inner * depth + (index < 0 ? index + depth : index)) * inner + i % inner, 1);
  }
  return Status();
}

const OpDef kOneHot{.name = "OneHot",
                    .min_inputs = 3,
                    .max_inputs = 3,
                    .attributes = {{"axis", AttrKind::kInt}},
                    .infer = infer_one_hot,
                    .reference = one_hot_reference,
                    .traits = {}};
const OpDef* const kOneHotDefs[] = {&kOneHot};

}  // namespace

std::span<const OpDef* const> one_hot_ops() { return kOneHotDefs; }

}  // namespace wootz::ops
