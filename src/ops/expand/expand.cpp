// Expand: broadcasts the data to a shape (input 1); dimensions of 1 on either side give way.
#include <algorithm>

#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_expand(InferContext& ctx) {
  if (!is_integer(ctx.dtype(1)) || ctx.rank(1) > 1)
    return ctx.fail("the shape is {}{}, it must be a list of integers", dtype_name(ctx.dtype(1)),
                    shape_to_string(ctx.shape(1)));
  if (const std::optional<std::vector<Dim>> wanted = ctx.dims_value(1)) {
    for (const Dim& d : *wanted)
      if (d.is_const() && d.value() < 0) return ctx.fail("shape {} has a negative entry", shape_to_string(*wanted));
    Result<Shape> shape = broadcast_shapes(ctx.shape(0), *wanted);
    if (!shape.ok()) return ctx.fail("{}", shape.status().message());
    std::optional<std::vector<Dim>> values = shape->size() <= 1 ? ctx.dims_value(0) : std::nullopt;
    const std::optional<Dims> dims = to_dims(*shape);
    ctx.set_output(0, ctx.dtype(0), std::move(shape).value());
    if (!values || !dims) return Status();
    const auto count = static_cast<size_t>(dims->volume());
    if (values->size() == 1 && count <= static_cast<size_t>(limits::kMaxShapeValues))
      values->resize(count, values->front());
    if (values->size() == count) ctx.set_output_values(0, std::move(*values));
    return Status();
  }
  if (ctx.rank(1) != 1 || !ctx.shape(1)[0].is_const())
    return ctx.fail("the rank of the result must be known while building");
  const int64_t rank = std::max<int64_t>(ctx.shape(1)[0].value(), ctx.rank(0));
  if (rank > limits::kMaxRank)
    return ctx.fail("the result would have rank {}, the limit is {}", rank, limits::kMaxRank);
  Shape shape;
  for (int64_t axis = 0; axis < rank; ++axis) {
    // A known extent above 1 stays what it is.
    const int64_t own = axis - (rank - ctx.rank(0));
    const Dim* d = own >= 0 ? &ctx.shape(0)[static_cast<size_t>(own)] : nullptr;
    shape.push_back(d != nullptr && d->is_const() && d->value() != 1 ? *d
                                                                     : ctx.data_dependent(0, static_cast<int>(axis)));
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  return Status();
}

Status expand_reference(EvalContext& ctx) {
  const Dims& to = ctx.outputs[0].dims();
  const Dims from = broadcast_strides(ctx.in(0).dims(), to), strides = to.strides();
  StridedCopy walk;
  for (size_t a = 0; a < to.size(); ++a) walk.axis(to[a], from[a], strides[a]);
  strided_copy(ctx.in(0), ctx.outputs[0], walk);
  return Status();
}

const OpDef kExpand{.name = "Expand",
                    .min_inputs = 2,
                    .max_inputs = 2,
                    .attributes = {},
                    .infer = infer_expand,
                    .reference = expand_reference,
                    .lowering = Lowering::kMove,
                    .traits = {}};
const OpDef* const kExpandDefs[] = {&kExpand};

}  // namespace

std::span<const OpDef* const> expand_ops() { return kExpandDefs; }

}  // namespace wootz::ops
