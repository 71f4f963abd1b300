// Reduce: one op for every reduction; attribute "kind" says which. Axes are attribute "axes", else input 1, else all.
// An explicitly empty list reduces nothing. Reducing over no elements gives the kind's neutral value.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

enum class Kind : uint8_t { kSum, kMean, kMax, kMin, kProd, kL1, kL2, kSumSq, kLogSum, kLogSumExp };
constexpr std::pair<std::string_view, Kind> kKinds[] = {{"sum", Kind::kSum},       {"mean", Kind::kMean},
                                                        {"max", Kind::kMax},       {"min", Kind::kMin},
                                                        {"prod", Kind::kProd},     {"l1", Kind::kL1},
                                                        {"l2", Kind::kL2},         {"sumsq", Kind::kSumSq},
                                                        {"logsum", Kind::kLogSum}, {"logsumexp", Kind::kLogSumExp}};

std::optional<Kind> kind_of(const Node& node) {
  const std::string name = node.attr_string("kind");
  for (const auto& [text, kind] : kKinds)
    if (text == name) return kind;
  return std::nullopt;
}

std::vector<int64_t> all_axes(int rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  for (int a = 0; a < rank; ++a) axes[static_cast<size_t>(a)] = a;
  return axes;
}

// Axes from an input: there an empty list means all, unless the node says otherwise.
std::vector<int64_t> or_all(std::vector<int64_t> axes, const Node& node, int rank) {
  return axes.empty() && node.attr_int("noop_with_empty_axes", 0) == 0 ? all_axes(rank) : std::move(axes);
}

void track_values(InferContext& ctx, Kind kind) {
  const std::optional<std::vector<Dim>> values = ctx.rank(0) == 1 ? ctx.dims_value(0) : std::nullopt;
  if (!values || values->empty()) return;
  Dim result = values->front();
  for (size_t i = 1; i < values->size(); ++i) {
    const Dim& v = (*values)[i];
    switch (kind) {
      case Kind::kSum: result = result + v; break;
      case Kind::kProd: result = result * v; break;
      case Kind::kMax: result = dim_max(result, v); break;
      case Kind::kMin: result = dim_min(result, v); break;
      default: return;
    }
  }
  if (kind == Kind::kSum || kind == Kind::kProd || kind == Kind::kMax || kind == Kind::kMin)
    ctx.set_output_values(0, {result});
}

Status infer_reduce(InferContext& ctx) {
  const Node& node = ctx.node();
  const std::optional<Kind> kind = kind_of(node);
  if (!kind) return ctx.fail("kind '{}' is not known", node.attr_string("kind"));
  const bool extremum = *kind == Kind::kMax || *kind == Kind::kMin;
  if (!accepts(Accept::kNumeric, ctx.dtype(0)) && !(extremum && ctx.dtype(0) == DType::kBool))
    return ctx.fail("cannot reduce {} by {}", dtype_name(ctx.dtype(0)), node.attr_string("kind"));
  const bool keep = node.attr_int("keepdims", 1) != 0;
  std::optional<std::vector<int64_t>> given;
  if (node.has_attr("axes"))
    given = node.attr_ints("axes");
  else if (!ctx.has(1))
    given = all_axes(ctx.rank(0));
  else if (std::optional<std::vector<int64_t>> known = ctx.ints_value(1))
    given = or_all(std::move(*known), node, ctx.rank(0));
  if (!given) {
    // Which axes go is only known when running; how many there are may be known.
    if (ctx.rank(1) != 1 || !ctx.shape(1)[0].is_const())
      return ctx.fail("the number of axes must be known while building");
    const int64_t count = ctx.shape(1)[0].value();
    const int64_t rank = keep ? ctx.rank(0) : count == 0 ? 0 : ctx.rank(0) - count;
    if (rank < 0) return ctx.fail("{} axes of {}", count, shape_to_string(ctx.shape(0)));
    Shape shape;
    for (int64_t a = 0; a < rank; ++a) shape.push_back(ctx.data_dependent(0, static_cast<int>(a)));
    ctx.set_output(0, ctx.dtype(0), std::move(shape));
    return Status();
  }
  const Result<std::vector<int64_t>> axes = normalize_axes(*given, ctx.rank(0));
  if (!axes.ok()) return ctx.fail("{} (input is {})", axes.status().message(), shape_to_string(ctx.shape(0)));
  Shape shape;
  for (int a = 0; a < ctx.rank(0); ++a) {
    if (std::find(axes->begin(), axes->end(), a) == axes->end())
      shape.push_back(ctx.shape(0)[static_cast<size_t>(a)]);
    else if (keep)
      shape.push_back(Dim(1));
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  if (is_integer(ctx.dtype(0)) && axes->size() == 1) track_values(ctx, *kind);
  return Status();
}

// Calls visit(input index, output index) for every element in row-major order.
template <typename Visit>
void visit_elements(const Dims& dims, const std::vector<int64_t>& axes, Visit visit) {
  Dims kept = dims;
  for (int64_t a : axes) kept[static_cast<size_t>(a)] = 1;
  const Dims strides = broadcast_strides(kept, dims);
  Dims index = Dims::filled(dims.rank(), 0);
  int64_t to = 0;
  for (int64_t i = 0, n = dims.volume(); i < n; ++i) {
    visit(i, to);
    for (size_t a = dims.size(); a-- > 0;) {
      to += strides[a];
      if (++index[a] < dims[a]) break;
      to -= strides[a] * dims[a];
      index[a] = 0;
    }
  }
}

void reduce_floats(const HostTensor& x, HostTensor& out, Kind kind, const std::vector<int64_t>& axes) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double start = kind == Kind::kProd                              ? 1
                       : kind == Kind::kMax || kind == Kind::kLogSumExp ? -kInf
                       : kind == Kind::kMin                             ? kInf
                                                                        : 0;
  std::vector<double> acc(static_cast<size_t>(out.volume()), start);
  visit_elements(x.dims(), axes, [&](int64_t from, int64_t to) {
    double& a = acc[static_cast<size_t>(to)];
    const double v = x.get_f64(from);
    switch (kind) {
      case Kind::kSum:
      case Kind::kMean:
      case Kind::kLogSum: a += v; break;
      case Kind::kMax:
      case Kind::kLogSumExp: a = std::isnan(a) || a > v ? a : v; break;
      case Kind::kMin: a = std::isnan(a) || a < v ? a : v; break;
      case Kind::kProd: a *= v; break;
      case Kind::kL1: a += std::abs(v); break;
      case Kind::kL2:
      case Kind::kSumSq: a += v * v; break;
    }
  });
  if (kind == Kind::kLogSumExp) {  // acc is the largest element; sum what is relative to it
    std::vector<double> sums(acc.size(), 0);
    visit_elements(x.dims(), axes, [&](int64_t from, int64_t to) {
      const double top = acc[static_cast<size_t>(to)];
      sums[static_cast<size_t>(to)] += std::exp(x.get_f64(from) - (std::isinf(top) ? 0 : top));
    });
    for (size_t i = 0; i < acc.size(); ++i) acc[i] = std::log(sums[i]) + (std::isinf(acc[i]) ? 0 : acc[i]);
  }
  const double count = out.volume() > 0 ? static_cast<double>(x.volume()) / static_cast<double>(out.volume()) : 0;
  for (size_t i = 0; i < acc.size(); ++i) {
    double v = acc[i];
    if (kind == Kind::kMean) v /= count;
    if (kind == Kind::kL2) v = std::sqrt(v);
    if (kind == Kind::kLogSum) v = std::log(v);
    out.set_f64(static_cast<int64_t>(i), v);
  }
}

// The least and largest values of an integer type, in the 64 bits that carry it.
int64_t lowest(DType dtype) {
  const int bits = dtype_bits(dtype);
  if (dtype == DType::kBool || !dtype_info(dtype).is_signed) return 0;
  return bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
}
int64_t highest(DType dtype) {
  const int bits = dtype_bits(dtype);
  if (dtype == DType::kBool) return 1;
  if (dtype == DType::kU64) return -1;  // all ones
  return dtype_info(dtype).is_signed ? static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1) : (int64_t{1} << bits) - 1;
}

void reduce_integers(const HostTensor& x, HostTensor& out, Kind kind, const std::vector<int64_t>& axes) {
  const DType dtype = x.dtype();
  const auto less = [&](int64_t a, int64_t b) {
    return dtype == DType::kU64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
  };
  const int64_t start = kind == Kind::kProd  ? 1
                        : kind == Kind::kMax ? lowest(dtype)
                        : kind == Kind::kMin ? highest(dtype)
                                             : 0;
  std::vector<uint64_t> acc(static_cast<size_t>(out.volume()), static_cast<uint64_t>(start));  // unsigned: wraps
  visit_elements(x.dims(), axes, [&](int64_t from, int64_t to) {
    uint64_t& a = acc[static_cast<size_t>(to)];
    const int64_t v = x.get_i64(from);
    const auto u = static_cast<uint64_t>(v);
    switch (kind) {
      case Kind::kMax: a = less(static_cast<int64_t>(a), v) ? u : a; break;
      case Kind::kMin: a = less(v, static_cast<int64_t>(a)) ? u : a; break;
      case Kind::kProd: a *= u; break;
      case Kind::kL1: a += dtype_info(dtype).is_signed && v < 0 ? uint64_t{0} - u : u; break;
      case Kind::kSumSq: a += u * u; break;
      default: a += u; break;
    }
  });
  const int64_t count = out.volume() > 0 ? x.volume() / out.volume() : 0;
  for (size_t i = 0; i < acc.size(); ++i) {
    auto v = static_cast<int64_t>(acc[i]);
    if (kind == Kind::kMean && count > 0)
      v = dtype == DType::kU64 ? static_cast<int64_t>(acc[i] / static_cast<uint64_t>(count)) : v / count;
    out.set_i64(static_cast<int64_t>(i), v);
  }
}

Status reduce_reference(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  std::vector<int64_t> given;
  if (ctx.node.has_attr("axes"))
    given = ctx.node.attr_ints("axes");
  else
    given = ctx.has(1) ? or_all(tensor_ints(ctx.in(1)), ctx.node, x.rank()) : all_axes(x.rank());
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, normalize_axes(given, x.rank()));
  const std::optional<Kind> kind = kind_of(ctx.node);
  if (!kind) return internal_error("kind '{}'", ctx.node.attr_string("kind"));
  const bool irrational = *kind == Kind::kL2 || *kind == Kind::kLogSum || *kind == Kind::kLogSumExp;
  if (is_float(x.dtype()) || irrational)
    reduce_floats(x, ctx.outputs[0], *kind, axes);
  else
    reduce_integers(x, ctx.outputs[0], *kind, axes);
  return Status();
}

const OpDef kReduce{.name = "Reduce",
                    .max_inputs = 2,
                    .attributes = {{"kind", AttrKind::kString, true},
                                   {"axes", AttrKind::kInts},
                                   {"keepdims", AttrKind::kInt},
                                   {"noop_with_empty_axes", AttrKind::kInt}},
                    .infer = infer_reduce,
                    .reference = reduce_reference,
                    .lowering = Lowering::kReduce,
                    .traits = {}};
const OpDef* const kReduceDefs[] = {&kReduce};

}  // namespace

std::span<const OpDef* const> reduce_ops() { return kReduceDefs; }

}  // namespace wootz::ops
