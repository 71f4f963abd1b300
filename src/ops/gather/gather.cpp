// Gather, GatherElements, GatherND: elements picked by index. A negative index counts from the end; one outside the
// data is an error when it is read.
#include <algorithm>

#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status check_indices(const InferContext& ctx) {
  if (!is_integer(ctx.dtype(1))) return ctx.fail("the indices are {}, they must be integers", dtype_name(ctx.dtype(1)));
  return Status();
}

// The index in [0, extent), or an error that names it.
Result<int64_t> resolve_index(int64_t index, int64_t extent) {
  if (index < -extent || index >= extent)
    return invalid_argument("index {} is outside [-{}, {})", index, extent, extent);
  return index < 0 ? index + extent : index;
}

Status infer_gather(InferContext& ctx) {
  WOOTZ_RETURN_IF_ERROR(check_indices(ctx));
  const Result<int> axis = normalize_axis(ctx.node().attr_int("axis", 0), ctx.rank(0));
  if (!axis.ok()) return ctx.fail("{} (the data is {})", axis.status().message(), shape_to_string(ctx.shape(0)));
  const Shape& data = ctx.shape(0);
  Shape shape(data.begin(), data.begin() + *axis);
  shape.insert(shape.end(), ctx.shape(1).begin(), ctx.shape(1).end());
  shape.insert(shape.end(), data.begin() + *axis + 1, data.end());
  const size_t rank = shape.size();
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  // Entries of a known list.
  const std::optional<std::vector<Dim>> values = ctx.rank(0) == 1 && rank <= 1 ? ctx.dims_value(0) : std::nullopt;
  const std::optional<std::vector<int64_t>> indices = ctx.ints_value(1);
  if (!values || !indices) return Status();
  std::vector<Dim> picked;
  for (int64_t index : *indices) {
    const Result<int64_t> at = resolve_index(index, static_cast<int64_t>(values->size()));
    if (!at.ok()) return ctx.fail("{}", at.status().message());
    picked.push_back((*values)[static_cast<size_t>(*at)]);
  }
  ctx.set_output_values(0, std::move(picked));
  return Status();
}

Status gather_reference(EvalContext& ctx) {
  const HostTensor &data = ctx.in(0), &indices = ctx.in(1);
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", 0), data.rank()));
  const int64_t extent = data.dims()[static_cast<size_t>(axis)];
  const int64_t outer = span_volume(data.dims(), 0, axis), inner = span_volume(data.dims(), axis + 1, data.rank());
  const int64_t count = indices.volume();
  for (int64_t i = 0; i < count; ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const int64_t at, resolve_index(indices.get_i64(i), extent));
    for (int64_t o = 0; o < outer; ++o)
      copy_elements(data, (o * extent + at) * inner, ctx.outputs[0], (o * count + i) * inner, inner);
  }
  return Status();
}

Status infer_gather_elements(InferContext& ctx) {
  WOOTZ_RETURN_IF_ERROR(check_indices(ctx));
  if (ctx.rank(0) != ctx.rank(1))
    return ctx.fail("the data {} and the indices {} must have one rank", shape_to_string(ctx.shape(0)),
                    shape_to_string(ctx.shape(1)));
  const Result<int> axis = normalize_axis(ctx.node().attr_int("axis", 0), ctx.rank(0));
  if (!axis.ok()) return ctx.fail("{} (the data is {})", axis.status().message(), shape_to_string(ctx.shape(0)));
  for (int a = 0; a < ctx.rank(0); ++a) {
    const Dim &d = ctx.shape(0)[static_cast<size_t>(a)], &i = ctx.shape(1)[static_cast<size_t>(a)];
    if (a != *axis && d.is_const() && i.is_const() && i.value() > d.value())
      return ctx.fail("the indices {} are larger than the data {} along axis {}", shape_to_string(ctx.shape(1)),
                      shape_to_string(ctx.shape(0)), a);
  }
  ctx.set_output(0, ctx.dtype(0), ctx.shape(1));
  return Status();
}

Status gather_elements_reference(EvalContext& ctx) {
  const HostTensor &data = ctx.in(0), &indices = ctx.in(1);
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", 0), data.rank()));
  const auto along = static_cast<size_t>(axis);
  const Dims strides = data.dims().strides();
  Dims position = Dims::filled(data.rank(), 0);
  for (int64_t i = 0; i < indices.volume(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const int64_t at, resolve_index(indices.get_i64(i), data.dims()[along]));
    int64_t from = at * strides[along];
    for (size_t a = 0; a < position.size(); ++a)
      if (a != along) from += position[a] * strides[a];
    copy_elements(data, from, ctx.outputs[0], i, 1);
    for (size_t a = position.size(); a-- > 0;) {
      if (++position[a] < indices.dims()[a]) break;
      position[a] = 0;
    }
  }
  return Status();
}

Status infer_gather_nd(InferContext& ctx) {
  WOOTZ_RETURN_IF_ERROR(check_indices(ctx));
  const Shape &data = ctx.shape(0), &indices = ctx.shape(1);
  const int64_t batch = ctx.node().attr_int("batch_dims", 0);
  const auto rank = static_cast<int64_t>(data.size()), index_rank = static_cast<int64_t>(indices.size());
  if (rank < 1 || index_rank < 1 || batch < 0 || batch >= std::min(rank, index_rank))
    return ctx.fail("batch_dims {} does not fit data {} and indices {}", batch, shape_to_string(data),
                    shape_to_string(indices));
  if (!indices.back().is_const())
    return ctx.fail("the last dimension of indices {} is not known", shape_to_string(indices));
  const int64_t depth = indices.back().value();
  if (depth < 1 || depth > rank - batch)
    return ctx.fail("indices {} address {} axes, data {} has {} after {} batch axes", shape_to_string(indices), depth,
                    shape_to_string(data), rank - batch, batch);
  for (int64_t a = 0; a < batch; ++a) {
    const Dim &d = data[static_cast<size_t>(a)], &i = indices[static_cast<size_t>(a)];
    if (d.is_const() && i.is_const() && !(d == i))
      return ctx.fail("batch axis {} of data {} and indices {} differ", a, shape_to_string(data),
                      shape_to_string(indices));
  }
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), data.begin() + batch + depth, data.end());
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  return Status();
}

Status gather_nd_reference(EvalContext& ctx) {
  const HostTensor &data = ctx.in(0), &indices = ctx.in(1);
  const auto batch = static_cast<int>(ctx.node.attr_int("batch_dims", 0));
  const auto depth = static_cast<int>(indices.dims().back());
  const int64_t inner = span_volume(data.dims(), batch + depth, data.rank());
  const int64_t per_batch = span_volume(indices.dims(), batch, indices.rank() - 1);
  const int64_t batch_stride = span_volume(data.dims(), batch, data.rank());
  const Dims strides = data.dims().strides();
  const int64_t tuples = per_batch * span_volume(indices.dims(), 0, batch);
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t from = t / per_batch * batch_stride;
    for (int k = 0; k < depth; ++k) {
      const auto axis = static_cast<size_t>(batch + k);
      WOOTZ_ASSIGN_OR_RETURN(const int64_t at, resolve_index(indices.get_i64(t * depth + k), data.dims()[axis]));
      from += at * strides[axis];
    }
    copy_elements(data, from, ctx.outputs[0], t * inner, inner);
  }
  return Status();
}

const OpDef kGather{.name = "Gather",
                    .min_inputs = 2,
                    .max_inputs = 2,
                    .attributes = {{"axis", AttrKind::kInt}},
                    .infer = infer_gather,
                    .reference = gather_reference,
                    .lowering = Lowering::kGather,
                    .traits = {}};
const OpDef kGatherElements{.name = "GatherElements",
                            .min_inputs = 2,
                            .max_inputs = 2,
                            .attributes = {{"axis", AttrKind::kInt}},
                            .infer = infer_gather_elements,
                            .reference = gather_elements_reference,
                            .lowering = Lowering::kGather,
                            .traits = {}};
const OpDef kGatherNd{.name = "GatherND",
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .attributes = {{"batch_dims", AttrKind::kInt}},
                      .infer = infer_gather_nd,
                      .reference = gather_nd_reference,
                      .lowering = Lowering::kGather,
                      .traits = {}};
const OpDef* const kGatherDefs[] = {&kGather, &kGatherElements, &kGatherNd};

}  // namespace

std::span<const OpDef* const> gather_ops() { return kGatherDefs; }

}  // namespace wootz::ops
