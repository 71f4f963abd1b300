// ScatterElements, ScatterND and TensorScatter: a copy of the data with elements replaced by, or combined with,
// updates. Updates are applied in row-major order; an index outside the data is an error.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

enum class Combine : uint8_t { kNone, kAdd, kMul, kMax, kMin };
constexpr std::pair<std::string_view, Combine> kCombines[] = {{"none", Combine::kNone},
                                                              {"add", Combine::kAdd},
                                                              {"mul", Combine::kMul},
                                                              {"max", Combine::kMax},
                                                              {"min", Combine::kMin}};

std::optional<Combine> combine_of(const Node& node) {
  const std::string name = node.attr_string("reduction", "none");
  for (const auto& [text, combine] : kCombines)
    if (text == name) return combine;
  return std::nullopt;
}

Status check_scatter(const InferContext& ctx) {
  if (!is_integer(ctx.dtype(1))) return ctx.fail("the indices are {}, they must be integers", dtype_name(ctx.dtype(1)));
  if (ctx.dtype(2) != ctx.dtype(0))
    return ctx.fail("the data is {} and the updates are {}", dtype_name(ctx.dtype(0)), dtype_name(ctx.dtype(2)));
  if (!combine_of(ctx.node())) return ctx.fail("reduction '{}' is not known", ctx.node().attr_string("reduction"));
  return Status();
}

bool may_equal(const Dim& a, const Dim& b) { return !a.is_const() || !b.is_const() || a == b; }

Result<int64_t> resolve_index(int64_t index, int64_t extent) {
  if (index < -extent || index >= extent)
    return invalid_argument("index {} is outside [-{}, {})", index, extent, extent);
  return index < 0 ? index + extent : index;
}

Result<HostTensor> copy_of(const HostTensor& x) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor y, HostTensor::allocate(x.dtype(), x.dims()));
  if (x.bytes() > 0) std::memcpy(y.mutable_data(), x.data(), x.bytes());
  return y;
}

double combined(double a, double b, Combine how) {
  switch (how) {
    case Combine::kAdd: return a + b;
    case Combine::kMul: return a * b;
    case Combine::kMax: return std::isnan(a) || a > b ? a : b;
    case Combine::kMin: return std::isnan(a) || a < b ? a : b;
    case Combine::kNone: break;
  }
  return b;
}

int64_t combined(int64_t a, int64_t b, Combine how, DType dtype) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const bool less = dtype == DType::kU64 ? ua < ub : a < b;
  const bool logical = dtype == DType::kBool;
  switch (how) {
    case Combine::kAdd: return logical ? (a | b) : static_cast<int64_t>(ua + ub);
    case Combine::kMul: return logical ? (a & b) : static_cast<int64_t>(ua * ub);
    case Combine::kMax: return less ? b : a;
    case Combine::kMin: return less ? a : b;
    case Combine::kNone: break;
  }
  return b;
}

void update(HostTensor& y, int64_t to, const HostTensor& updates, int64_t from, int64_t count, Combine how) {
  if (how == Combine::kNone) return copy_elements(updates, from, y, to, count);
  for (int64_t i = 0; i < count; ++i) {
    if (is_float(y.dtype()))
      y.set_f64(to + i, combined(y.get_f64(to + i), updates.get_f64(from + i), how));
    else
      y.set_i64(to + i, combined(y.get_i64(to + i), updates.get_i64(from + i), how, y.dtype()));
  }
}

Status infer_scatter_elements(InferContext& ctx) {
  WOOTZ_RETURN_IF_ERROR(check_scatter(ctx));
  const Result<int> axis = normalize_axis(ctx.node().attr_int("axis", 0), ctx.rank(0));
  if (!axis.ok()) return ctx.fail("{} (the data is {})", axis.status().message(), shape_to_string(ctx.shape(0)));
  const Shape &data = ctx.shape(0), &indices = ctx.shape(1), &updates = ctx.shape(2);
  bool fits = indices.size() == data.size() && updates.size() == data.size();
  for (size_t a = 0; fits && a < data.size(); ++a) {
    fits = may_equal(indices[a], updates[a]);
    if (static_cast<int>(a) != *axis && indices[a].is_const() && data[a].is_const())
      fits = fits && indices[a].value() <= data[a].value();
  }
  if (!fits)
    return ctx.fail("data {}, indices {} and updates {} do not fit", shape_to_string(data), shape_to_string(indices),
                    shape_to_string(updates));
  ctx.set_output(0, ctx.dtype(0), data);
  return Status();
}

Status scatter_elements_reference(EvalContext& ctx) {
  const HostTensor &indices = ctx.in(1), &updates = ctx.in(2);
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", 0), ctx.in(0).rank()));
  const Combine how = combine_of(ctx.node).value_or(Combine::kNone);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor y, copy_of(ctx.in(0)));
  const Dims strides = y.dims().strides();
  const auto along = static_cast<size_t>(axis);
  Dims position = Dims::filled(y.rank(), 0);
  for (int64_t i = 0, n = indices.volume(); i < n; ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const int64_t at, resolve_index(indices.get_i64(i), y.dims()[along]));
    int64_t to = at * strides[along];
    for (size_t a = 0; a < position.size(); ++a)
      if (a != along) to += position[a] * strides[a];
    update(y, to, updates, i, 1, how);
    for (size_t a = position.size(); a-- > 0;) {
      if (++position[a] < indices.dims()[a]) break;
      position[a] = 0;
    }
  }
  ctx.outputs[0] = std::move(y);
  return Status();
}

Status infer_scatter_nd(InferContext& ctx) {
  WOOTZ_RETURN_IF_ERROR(check_scatter(ctx));
  const Shape &data = ctx.shape(0), &indices = ctx.shape(1), &updates = ctx.shape(2);
  if (data.empty() || indices.empty())
    return ctx.fail("data {} and indices {} must not be scalars", shape_to_string(data), shape_to_string(indices));
  if (!indices.back().is_const())
    return ctx.fail("the last dimension of indices {} is not known", shape_to_string(indices));
  const int64_t depth = indices.back().value();
  if (depth < 1 || depth > static_cast<int64_t>(data.size()))
    return ctx.fail("indices {} address {} axes of data {}", shape_to_string(indices), depth, shape_to_string(data));
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), data.begin() + depth, data.end());
  bool fits = updates.size() == expected.size();
  for (size_t a = 0; fits && a < expected.size(); ++a) fits = may_equal(updates[a], expected[a]);
  if (!fits) return ctx.fail("updates {} should have shape {}", shape_to_string(updates), shape_to_string(expected));
  ctx.set_output(0, ctx.dtype(0), data);
  return Status();
}

Status scatter_nd_reference(EvalContext& ctx) {
  const HostTensor &indices = ctx.in(1), &updates = ctx.in(2);
  const Combine how = combine_of(ctx.node).value_or(Combine::kNone);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor y, copy_of(ctx.in(0)));
  const auto depth = static_cast<int>(indices.dims().back());
  const int64_t inner = span_volume(y.dims(), depth, y.rank());
  const Dims strides = y.dims().strides();
  const int64_t tuples = span_volume(indices.dims(), 0, indices.rank() - 1);
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t to = 0;
    for (int k = 0; k < depth; ++k) {
      const auto axis = static_cast<size_t>(k);
      WOOTZ_ASSIGN_OR_RETURN(const int64_t at, resolve_index(indices.get_i64(t * depth + k), y.dims()[axis]));
      to += at * strides[axis];
    }
    update(y, to, updates, t * inner, inner, how);
  }
  ctx.outputs[0] = std::move(y);
  return Status();
}

// TensorScatter writes a run of positions along one axis of a cache, from a start per batch entry (input 2, or 0).
Status infer_tensor_scatter(InferContext& ctx) {
  const Shape &cache = ctx.shape(0), &update_shape = ctx.shape(1);
  const std::string mode = ctx.node().attr_string("mode", "linear");
  if (mode != "linear" && mode != "circular") return ctx.fail("mode is '{}', it must be linear or circular", mode);
  if (ctx.dtype(0) != ctx.dtype(1))
    return ctx.fail("the cache is {} and the update is {}", dtype_name(ctx.dtype(0)), dtype_name(ctx.dtype(1)));
  const Result<int> axis = normalize_axis(ctx.node().attr_int("axis", -2), ctx.rank(0));
  if (!axis.ok() || *axis == 0)
    return ctx.fail("the axis of cache {} must not be the batch axis", shape_to_string(cache));
  bool fits = cache.size() == update_shape.size();
  for (size_t a = 0; fits && a < cache.size(); ++a) {
    const bool known = cache[a].is_const() && update_shape[a].is_const();
    fits = static_cast<int>(a) == *axis ? !known || update_shape[a].value() <= cache[a].value()
                                        : may_equal(cache[a], update_shape[a]);
  }
  if (!fits)
    return ctx.fail("update {} does not fit into cache {}", shape_to_string(update_shape), shape_to_string(cache));
  if (ctx.has(2) && (ctx.rank(2) != 1 || !may_equal(ctx.shape(2)[0], cache[0]) || !is_integer(ctx.dtype(2))))
    return ctx.fail("write indices {} must be one integer per batch entry of {}", shape_to_string(ctx.shape(2)),
                    shape_to_string(cache));
  ctx.set_output(0, ctx.dtype(0), cache);
  return Status();
}

Status tensor_scatter_reference(EvalContext& ctx) {
  const HostTensor& updates = ctx.in(1);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor y, copy_of(ctx.in(0)));
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", -2), y.rank()));
  const bool circular = ctx.node.attr_string("mode", "linear") == "circular";
  const int64_t extent = y.dims()[static_cast<size_t>(axis)], length = updates.dims()[static_cast<size_t>(axis)];
  const int64_t prefixes = span_volume(y.dims(), 0, axis), per_batch = span_volume(y.dims(), 1, axis);
  const int64_t inner = span_volume(y.dims(), axis + 1, y.rank());
  for (int64_t p = 0; p < prefixes && length > 0; ++p) {
    int64_t start = ctx.has(2) ? ctx.in(2).get_i64(p / per_batch) : 0;
    if (circular) {
      start = (start % extent + extent) % extent;
    } else if (start < 0 || start > extent - length) {
      return invalid_argument("{} positions from {} do not fit into the {} of the cache", length, start, extent);
    }
    for (int64_t s = 0; s < length; ++s)
      copy_elements(updates, (p * length + s) * inner, y, (p * extent + (start + s) % extent) * inner, inner);
  }
  ctx.outputs[0] = std::move(y);
  return Status();
}

const OpDef kScatterElements{.name = "ScatterElements",
                             .min_inputs = 3,
                             .max_inputs = 3,
                             .attributes = {{"axis", AttrKind::kInt}, {"reduction", AttrKind::kString}},
                             .infer = infer_scatter_elements,
                             .reference = scatter_elements_reference,
                             .lowering = Lowering::kScatter,
                             .traits = {}};
const OpDef kScatterNd{.name = "ScatterND",
                       .min_inputs = 3,
                       .max_inputs = 3,
                       .attributes = {{"reduction", AttrKind::kString}},
                       .infer = infer_scatter_nd,
                       .reference = scatter_nd_reference,
                       .lowering = Lowering::kScatter,
                       .traits = {}};
const OpDef kTensorScatter{.name = "TensorScatter",
                           .min_inputs = 2,
                           .max_inputs = 3,
                           .attributes = {{"axis", AttrKind::kInt}, {"mode", AttrKind::kString}},
                           .infer = infer_tensor_scatter,
                           .reference = tensor_scatter_reference,
                           .traits = {}};
const OpDef* const kScatterDefs[] = {&kScatterElements, &kScatterNd, &kTensorScatter};

}  // namespace

std::span<const OpDef* const> scatter_ops() { return kScatterDefs; }

}  // namespace wootz::ops
