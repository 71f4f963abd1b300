// Ops that only change the shape: Reshape (the shape is input 1), Flatten, Squeeze and Unsqueeze (axes are attributes).
#include <algorithm>

#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

// Elements keep their order, so tracked values pass through.
Status set_view(InferContext& ctx, Shape shape) {
  const Dim before = volume(ctx.shape(0)), after = volume(shape);
  if (before.is_const() && after.is_const() && !(before == after))
    return ctx.fail("{} has {} elements and cannot be seen as {}", shape_to_string(ctx.shape(0)), before.to_string(),
                    shape_to_string(shape));
  std::optional<std::vector<Dim>> values;
  if (ctx.rank(0) <= 1 && shape.size() <= 1) values = ctx.dims_value(0);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  if (values) ctx.set_output_values(0, std::move(*values));
  return Status();
}

Status view_reference(EvalContext& ctx) {
  if (ctx.in(0).volume() != ctx.outputs[0].volume())
    return invalid_argument("{} cannot be seen as {}", ctx.in(0).dims().to_string(), ctx.outputs[0].dims().to_string());
  share_elements(ctx.in(0), ctx.outputs[0]);
  return Status();
}

Status infer_reshape(InferContext& ctx) {
  if (!is_integer(ctx.dtype(1)) || ctx.rank(1) > 1)
    return ctx.fail("the shape is {}{}, it must be a list of integers", dtype_name(ctx.dtype(1)),
                    shape_to_string(ctx.shape(1)));
  const std::optional<std::vector<Dim>> wanted = ctx.dims_value(1);
  if (!wanted) {
    if (ctx.rank(1) != 1 || !ctx.shape(1)[0].is_const())
      return ctx.fail("the rank of the result must be known while building; the shape is an unknown {}{}",
                      dtype_name(ctx.dtype(1)), shape_to_string(ctx.shape(1)));
    Shape shape;
    const int64_t rank = ctx.shape(1)[0].value();
    if (rank > limits::kMaxRank)
      return ctx.fail("the result would have rank {}, the limit is {}", rank, limits::kMaxRank);
    for (int64_t axis = 0; axis < rank; ++axis) shape.push_back(ctx.data_dependent(0, static_cast<int>(axis)));
    return set_view(ctx, std::move(shape));
  }
  const bool allow_zero = ctx.node().attr_int("allowzero", 0) != 0;
  Shape shape;
  int inferred = -1;
  for (size_t i = 0; i < wanted->size(); ++i) {
    Dim d = (*wanted)[i];
    if (d.is_const() && d.value() == 0 && !allow_zero) {
      if (i >= ctx.shape(0).size())
        return ctx.fail("entry {} of shape {} keeps a dimension that {} does not have", i, shape_to_string(*wanted),
                        shape_to_string(ctx.shape(0)));
      d = ctx.shape(0)[i];
    } else if (d.is_const() && d.value() == -1) {
      if (inferred >= 0) return ctx.fail("shape {} has two entries of -1", shape_to_string(*wanted));
      inferred = static_cast<int>(i);
      d = Dim(1);
    } else if (d.is_const() && d.value() < 0) {
      return ctx.fail("shape {} has a negative entry", shape_to_string(*wanted));
    }
    shape.push_back(std::move(d));
  }
  if (inferred >= 0) {
    const Dim all = volume(ctx.shape(0)), others = volume(shape);
    if (others.is_const() && others.value() == 0) {
      if (!(all == Dim(0)))
        return ctx.fail("{} cannot be seen as {}", shape_to_string(ctx.shape(0)), shape_to_string(*wanted));
      shape[static_cast<size_t>(inferred)] = Dim(0);
    } else {
      if (all.is_const() && others.is_const() && all.value() % others.value() != 0)
        return ctx.fail("{} cannot be seen as {}", shape_to_string(ctx.shape(0)), shape_to_string(*wanted));
      shape[static_cast<size_t>(inferred)] = floor_div(all, others);
      // A quotient of symbolic sizes need not look equal to the input's volume any more; that is checked when running.
    }
  }
  return set_view(ctx, std::move(shape));
}

Status infer_flatten(InferContext& ctx) {
  const int rank = ctx.rank(0);
  int64_t axis = ctx.node().attr_int("axis", 1);
  if (axis < -rank || axis > rank) return ctx.fail("axis {} is outside [-{}, {}]", axis, rank, rank);
  if (axis < 0) axis += rank;
  const Shape& x = ctx.shape(0);
  return set_view(ctx, {volume(Shape(x.begin(), x.begin() + axis)), volume(Shape(x.begin() + axis, x.end()))});
}

Status infer_squeeze(InferContext& ctx) {
  Result<std::vector<int64_t>> axes = normalize_axes(ctx.node().attr_ints("axes"), ctx.rank(0));
  if (!axes.ok()) return ctx.fail("{} (input {})", axes.status().message(), shape_to_string(ctx.shape(0)));
  Shape shape;
  for (int a = 0; a < ctx.rank(0); ++a) {
    const Dim& d = ctx.shape(0)[static_cast<size_t>(a)];
    if (std::find(axes->begin(), axes->end(), a) == axes->end()) {
      shape.push_back(d);
    } else if (d.is_const() && d.value() != 1) {
      return ctx.fail("axis {} of {} is not 1", a, shape_to_string(ctx.shape(0)));
    }
  }
  return set_view(ctx, std::move(shape));
}

Status infer_unsqueeze(InferContext& ctx) {
  const std::vector<int64_t> given = ctx.node().attr_ints("axes");
  const int rank = ctx.rank(0) + static_cast<int>(given.size());
  Result<std::vector<int64_t>> axes = normalize_axes(given, rank);
  if (!axes.ok()) return ctx.fail("{} (input {})", axes.status().message(), shape_to_string(ctx.shape(0)));
  Shape shape;
  size_t next = 0;
  for (int a = 0; a < rank; ++a) {
    const bool added = std::find(axes->begin(), axes->end(), a) != axes->end();
    shape.push_back(added ? Dim(1) : ctx.shape(0)[next++]);
  }
  return set_view(ctx, std::move(shape));
}

const OpDef kReshape{.name = "Reshape",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .attributes = {{"allowzero", AttrKind::kInt}},
                     .infer = infer_reshape,
                     .reference = view_reference,
                     .lowering = Lowering::kView,
                     .traits = {}};
const OpDef kFlatten{.name = "Flatten",
                     .attributes = {{"axis", AttrKind::kInt}},
                     .infer = infer_flatten,
                     .reference = view_reference,
                     .lowering = Lowering::kView,
                     .traits = {}};
const OpDef kSqueeze{.name = "Squeeze",
                     .attributes = {{"axes", AttrKind::kInts, true}},
                     .infer = infer_squeeze,
                     .reference = view_reference,
                     .lowering = Lowering::kView,
                     .traits = {}};
const OpDef kUnsqueeze{.name = "Unsqueeze",
                       .attributes = {{"axes", AttrKind::kInts, true}},
                       .infer = infer_unsqueeze,
                       .reference = view_reference,
                       .lowering = Lowering::kView,
                       .traits = {}};
const OpDef* const kReshapeDefs[] = {&kReshape, &kFlatten, &kSqueeze, &kUnsqueeze};

}  // namespace

std::span<const OpDef* const> reshape_ops() { return kReshapeDefs; }

}  // namespace wootz::ops
