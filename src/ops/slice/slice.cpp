// Slice: a range with a step along each of some axes. starts, ends, axes and steps are attributes when constant, else
// inputs 1 to 4 in that order.
#include "ops/module_table.h"
#include "ops/slice/slice_range.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

// How many axes are sliced: the length of starts, also where its values are unknown.
std::optional<size_t> sliced_axes(const InferContext& ctx) {
  if (ctx.node().has_attr("starts")) return ctx.node().attr_ints("starts").size();
  if (!ctx.has(1) || ctx.rank(1) > 1) return std::nullopt;
  if (ctx.rank(1) == 0) return 1;
  if (!ctx.shape(1)[0].is_const()) return std::nullopt;
  return static_cast<size_t>(ctx.shape(1)[0].value());
}

std::vector<int64_t> first_axes(size_t count) {
  std::vector<int64_t> axes(count);
  for (size_t i = 0; i < count; ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

// Values of a sliced list.
void track_values(InferContext& ctx, const Dim& start, const Dim& end, int64_t step) {
  const std::optional<std::vector<Dim>> values = ctx.dims_value(0);
  if (!values || ctx.rank(0) != 1 || !start.is_const() || !end.is_const()) return;
  const SliceRange r = slice_range(static_cast<int64_t>(values->size()), start.value(), end.value(), step);
  std::vector<Dim> kept;
  for (int64_t i = 0; i < r.count; ++i) kept.push_back((*values)[static_cast<size_t>(r.start + i * r.step)]);
  ctx.set_output_values(0, std::move(kept));
}

Status infer_slice(InferContext& ctx) {
  const Shape& x = ctx.shape(0);
  Shape shape = x;
  const auto unknown = [&](size_t axis) {
    shape[axis] = ctx.data_dependent(0, static_cast<int>(axis), x[axis].is_const() ? x[axis].value() : -1);
  };
  if (!has_list(ctx, "starts", 1) || !has_list(ctx, "ends", 2)) return ctx.fail("starts and ends are required");
  const std::optional<size_t> count = sliced_axes(ctx);
  std::optional<std::vector<int64_t>> given;
  if (has_list(ctx, "axes", 3))
    given = ints_list(ctx, "axes", 3);
  else if (count)
    given = first_axes(*count);
  if (!count || !given) {
    for (size_t a = 0; a < shape.size(); ++a) unknown(a);
    ctx.set_output(0, ctx.dtype(0), std::move(shape));
    return Status();
  }
  Result<std::vector<int64_t>> axes = normalize_axes(*given, ctx.rank(0));
  if (!axes.ok()) return ctx.fail("{} (input is {})", axes.status().message(), shape_to_string(x));
  const std::optional<std::vector<Dim>> starts = dims_list(ctx, "starts", 1), ends = dims_list(ctx, "ends", 2);
  std::optional<std::vector<int64_t>> steps = std::vector<int64_t>(*count, 1);
  if (has_list(ctx, "steps", 4)) steps = ints_list(ctx, "steps", 4);
  if (axes->size() != *count || (starts && starts->size() != *count) || (ends && ends->size() != *count) ||
      (steps && steps->size() != *count))
    return ctx.fail("starts, ends, axes and steps have different lengths");
  for (size_t i = 0; i < *count; ++i) {
    const auto axis = static_cast<size_t>((*axes)[i]);
    if (steps && (*steps)[i] == 0) return ctx.fail("the step along axis {} is 0", axis);
    std::optional<Dim> extent;
    if (starts && ends && steps)
      extent = slice_count(x[axis], (*starts)[i], (*ends)[i], (*steps)[i], ctx.node().graph());
    if (extent)
      shape[axis] = std::move(*extent);
    else
      unknown(axis);
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  if (starts && ends && steps && *count == 1) track_values(ctx, (*starts)[0], (*ends)[0], (*steps)[0]);
  return Status();
}

Status slice_reference(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  const std::vector<int64_t> starts = ints_list(ctx, "starts", 1), ends = ints_list(ctx, "ends", 2);
  const size_t count = starts.size();
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                         normalize_axes(ints_list(ctx, "axes", 3, first_axes(count)), x.rank()));
  const std::vector<int64_t> steps = ints_list(ctx, "steps", 4, std::vector<int64_t>(count, 1));
  if (ends.size() != count || axes.size() != count || steps.size() != count)
    return invalid_argument("starts, ends, axes and steps have different lengths");
  const Dims from = x.dims().strides(), to = ctx.outputs[0].dims().strides();
  StridedCopy walk;
  for (int a = 0; a < x.rank(); ++a) {
    const auto axis = static_cast<size_t>(a);
    SliceRange r{0, 1, x.dims()[axis]};
    for (size_t i = 0; i < count; ++i)
      if (axes[i] == a) r = slice_range(x.dims()[axis], starts[i], ends[i], steps[i]);
    if (r.count != ctx.outputs[0].dims()[axis])
      return internal_error("axis {} of {} gives {} elements, {} were inferred", a, x.dims().to_string(), r.count,
                            ctx.outputs[0].dims()[axis]);
    walk.from_offset += r.start * from[axis];
    // A huge step is only taken once: the position after it is never read.
    walk.axis(r.count, r.count > 1 ? r.step * from[axis] : 0, to[axis]);
  }
  strided_copy(x, ctx.outputs[0], walk);
  return Status();
}

const OpDef kSlice{.name = "Slice",
                   .max_inputs = 5,
                   .attributes = {{"starts", AttrKind::kInts},
                                  {"ends", AttrKind::kInts},
                                  {"axes", AttrKind::kInts},
                                  {"steps", AttrKind::kInts}},
                   .infer = infer_slice,
                   .reference = slice_reference,
                   .lowering = Lowering::kMove,
                   .traits = {}};
const OpDef* const kSliceDefs[] = {&kSlice};

}  // namespace

std::span<const OpDef* const> slice_ops() { return kSliceDefs; }

}  // namespace wootz::ops
