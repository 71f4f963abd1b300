// Families reduce, softmax and norm: every row (what is reduced together) belongs to a group of threads, and a block
// holds one or more groups. Sums are kept in f32, or f64 for f64.
#include <algorithm>

#include "backends/cuda/generate/columns.h"
#include "backends/cuda/generate/expression.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {
namespace {

// Kept and reduced axes; operands in this order: x, y, the epilogue's, then scale and bias.
struct Rows {
  std::vector<Axis> kept, reduced;
  int64_t count = 1, length = 1;
  int tx = 256, ty = 1;  // rows of a block, threads of a row
  bool inner = false;    // a row's elements are neighbours in memory
  int block() const { return tx * ty; }
  // Elements of a row that one thread takes; few enough to be read once and kept in registers, or 0.
  int64_t kept_elements() const {
    const int64_t n = (length + ty - 1) / ty;
    return n <= 16 ? n : 0;
  }
};

void choose_shape(Rows* rows) {
  rows->kept = merge_axes(std::move(rows->kept));
  rows->reduced = merge_axes(std::move(rows->reduced));
  rows->count = volume(rows->kept);
  rows->length = volume(rows->reduced);
  const int64_t step = rows->reduced.empty() ? 0 : std::abs(rows->reduced.back().strides[0]);
  const int64_t across = rows->kept.empty() ? INT64_MAX : std::abs(rows->kept.back().strides[0]);
  rows->inner = step <= across;
  const auto power = [](int64_t v) {
    int n = 1;
    while (n < v) n *= 2;
    return n;
  };
  if (rows->inner) {
    // A group of at least a warp once rows are long; more threads a row when there are few rows.
    const int64_t per_thread = rows->count >= 4096 ? 8 : rows->count >= 512 ? 6 : 4;
    rows->ty = rows->length <= 4 ? 1 : std::clamp(power(rows->length / per_thread), 1, rows->count < 64 ? 1024 : 256);
    if (rows->ty > 32 && rows->ty / 2 * 8 >= rows->length) rows->ty /= 2;
    rows->tx = rows->ty == 1 ? 256 : std::max(1, 128 / rows->ty);
  } else {
    rows->tx = 32;
    rows->ty = rows->length <= 8 ? 1 : rows->count >= 32 * 132 * 4 ? 8 : 32;
    if (rows->ty == 1) rows->tx = 256;
    rows->ty = std::min(rows->ty, power(rows->length));
  }
}

const char* accumulator(DType type) {
  if (type == DType::kF64) return "double";
  if (is_float(type)) return "float";
  return dtype_info(type).is_signed ? "s64" : "u64";
}

Status check_images(const Problem& p, size_t most_outputs = 1) {
  if (p.num_main < 1 || p.inputs.empty() || p.outputs.empty() || p.outputs.size() > most_outputs)
    return invalid_argument("{} inputs, {} outputs", p.num_main, p.outputs.size());
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  WOOTZ_RETURN_IF_ERROR(check_type(x.dtype));
  if (!is_plain(x.layout) || !is_plain(y.layout)) return unsupported("layout {}", layout_name(x.layout));
  return check_epilogue(p, x.dtype);
}

size_t epilogue_count(const Problem& p) { return p.inputs.size() - static_cast<size_t>(p.num_main); }

// Names of x, y and the epilogue's operands, in the order of their strides.
std::vector<std::string> operand_names(const Problem& p) {
  std::vector<std::string> names{"x", "y"};
  for (size_t k = 1; k <= epilogue_count(p); ++k) names.push_back(fmt::format("e{}", k));
  return names;
}

// Where an operand of the epilogue is for a row, or for an element of it.
std::vector<std::string> epilogue_offsets(const Problem& p, bool of_element) {
  std::vector<std::string> offsets;
  for (size_t k = 1; k <= epilogue_count(p); ++k)
    offsets.push_back(of_element ? fmt::format("at.e{0} + in.e{0}", k) : fmt::format("at.e{}", k));
  return offsets;
}

// What common/rows.cuh asks for. `names`: of the operands, in the order of their strides; `in_place`: y may be x.
KernelSource rows_source(std::string_view file, const Problem& p, const BindArgs& args, const Rows& rows,
                         const std::vector<std::string>& names, bool in_place) {
  const DType type = p.inputs[0].dtype;
  const char* restricted = in_place ? "" : " __restrict__";
  KernelSource source(file, transient(p, args));
  source.type("X", storage_type(type));
  source.fixed("kRows", rows.tx);
  source.fixed("kRowThreads", rows.ty);
  source.fixed("kNeighbours", rows.inner);
  source.operand(fmt::format("{}*{}", storage_type(p.outputs[0].dtype), restricted), "y", {true, 0});
  source.operand("const X*", "x", {false, 0});
  source.epilogue_operands(p);
  source.number("count", rows.count);
  source.number("length", rows.length);
  source.walk("Kept", "kept", rows.kept, names);
  std::vector<Axis> of_x;
  for (const Axis& axis : rows.reduced) of_x.push_back({axis.extent, {axis.strides[0]}});
  source.walk("Source", "source", of_x, {"x"});
  return source;
}

Status finish(const Rows& rows, KernelSource* source, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_count(rows.count));
  return source->finish(rows.block(), blocks_for(rows.count, rows.tx), launches);
}

// Softmax and norm: what they need of each element, and the expression on it.
Status finish_elements(const Rows& rows, const Problem& p, std::vector<std::string> names, KernelSource* source,
                       std::vector<Launch>* launches) {
  source->type("A", accumulator(p.inputs[0].dtype));
  source->fixed("kInRegisters", rows.kept_elements());
  source->walk("Element", "element", rows.reduced, names);
  WOOTZ_RETURN_IF_ERROR(
      source->epilogue(p, p.inputs[0].dtype, "const Kept& at, const Element& in", epilogue_offsets(p, true)));
  if (p.is(Family::kNorm))
    source->code(fmt::format(
        "W_FN void round_also(const Operands& p, const Constants& c, A f, const Kept& at, const Element& in) {{{}}}\n",
        p.outputs.size() > 1 ? "\n  p.z[at.y + in.y] = second(p, c, f, at, in);\n" : ""));
  return finish(rows, source, launches);
}

// Strides of x, y and the epilogue's operands over x's axes.
Result<std::vector<std::vector<int64_t>>> strides_over_x(const Problem& p, const BindArgs& args) {
  const Dims& x = args.inputs[0];
  std::vector<std::vector<int64_t>> over;
  const auto add = [&](const TensorDesc& t, const Dims& dims) -> Status {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s, strides_over(t.layout, dims, x));
    over.push_back(std::move(s));
    return Status();
  };
  WOOTZ_RETURN_IF_ERROR(add(p.inputs[0], x));
  WOOTZ_RETURN_IF_ERROR(add(p.outputs[0], x));
  for (auto i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i)
    WOOTZ_RETURN_IF_ERROR(add(p.inputs[i], args.inputs[i]));
  return over;
}

// A reduction's kept axes (strides of x, y and the epilogue's operands) and reduced ones.
Result<Rows> reduced_rows(const Problem& p, const BindArgs& args, const Ints& axes) {
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const int rank = x.rank();
  std::vector<bool> reduced(x.size(), false);
  for (const int64_t a : axes) {
    if (a < 0 || a >= rank || reduced[static_cast<size_t>(a)]) return invalid_argument("reduce: axis {}", a);
    reduced[static_cast<size_t>(a)] = true;
  }
  const Layout layout = rank < 3 ? Layout::kLinear : p.inputs[0].layout;
  const bool same_rank = y.rank() == rank;
  if (!same_rank && layout != Layout::kLinear)
    return unsupported("reduce that drops image axes in layout {}", layout_name(layout));
  // Strides of y and the epilogue's operands over y's axes, which are x's kept ones (and extents of 1).
  const Dims xs = layout_strides(layout, x);
  std::vector<std::vector<int64_t>> over;
  WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> ys, strides_over(p.outputs[0].layout, y, y));
  over.push_back(std::move(ys));
  for (auto i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s, strides_over(p.inputs[i].layout, args.inputs[i], y));
    over.push_back(std::move(s));
  }
  std::vector<int> axis_of_y(x.size(), -1);
  int next = 0;
  for (size_t a = 0; a < x.size(); ++a)
    if (!reduced[a] || same_rank) axis_of_y[a] = next++;
  if (next != y.rank()) return invalid_argument("reduce of {} gives {}", x.to_string(), y.to_string());
  Rows rows;
  for (const int a : memory_order(layout, rank)) {
    const auto u = static_cast<size_t>(a);
    Axis axis{x[u], {xs[u]}};
    const int ya = axis_of_y[u];
    if (!reduced[u] && y[static_cast<size_t>(ya)] != x[u])
      return invalid_argument("reduce of {} gives {}", x.to_string(), y.to_string());
    for (const auto& s : over) axis.strides.push_back(reduced[u] ? 0 : s[static_cast<size_t>(ya)]);
    (reduced[u] ? rows.reduced : rows.kept).push_back(std::move(axis));
  }
  choose_shape(&rows);
  return rows;
}

Reduction reduction_of(ReduceKind kind, DType type) {
  static constexpr struct {
    ReduceKind kind;
    const char* name;
    bool by_columns;
  } kReductions[] = {
      {ReduceKind::kSum, "SumOf", true},        {ReduceKind::kMean, "MeanOf", true},
      {ReduceKind::kMax, "MaxOf", true},        {ReduceKind::kMin, "MinOf", true},
      {ReduceKind::kProd, "ProdOf", false},     {ReduceKind::kL1, "L1Of", true},
      {ReduceKind::kL2, "L2Of", true},          {ReduceKind::kSumSq, "SumSqOf", true},
      {ReduceKind::kLogSum, "LogSumOf", false},
  };
  for (const auto& r : kReductions)
    if (r.kind == kind) return {r.name, r.by_columns, accumulator(type), type};
  return {};
}

Status reduce_rows(const Problem& p, const BindArgs& args, const Rows& rows, const Reduction& reduction,
                   std::vector<Launch>* launches) {
  if (rows.length != 0 && !rows.inner && reduction.by_columns) {
    WOOTZ_ASSIGN_OR_RETURN(const bool done,
                           generate_columns(p, reduction, transient(p, args), rows.kept, rows.reduced, launches));
    if (done) return Status();
  }
  KernelSource source = rows_source("reduce/rows.cuh", p, args, rows, operand_names(p), false);
  add_reduction(reduction, &source);
  source.fixed("kInRegisters", 0);
  WOOTZ_RETURN_IF_ERROR(source.epilogue(p, reduction.result, "const Kept& at", epilogue_offsets(p, false)));
  return finish(rows, &source, launches);
}

Status log_sum_exp(const Problem& p, const BindArgs& args, const Rows& rows, std::vector<Launch>* launches) {
  const DType type = p.inputs[0].dtype;
  if (!is_float(type)) return unsupported("reduce logsumexp of {}", dtype_name(type));
  KernelSource source = rows_source("reduce/log_sum_exp.cuh", p, args, rows, operand_names(p), false);
  source.type("A", accumulator(type));
  source.type("R", register_type(type));
  source.fixed("kInRegisters", 0);
  WOOTZ_RETURN_IF_ERROR(source.epilogue(p, type, "const Kept& at", epilogue_offsets(p, false)));
  return finish(rows, &source, launches);
}

}  // namespace

Status generate_reduce(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_images(p));
  WOOTZ_ASSIGN_OR_RETURN(const Rows rows, reduced_rows(p, args, p.as<ReduceParams>().axes));
  if (rows.count == 0) return Status();
  const ReduceKind kind = p.as<ReduceParams>().kind;
  const DType type = p.inputs[0].dtype;
  if (kind == ReduceKind::kLogSumExp) return log_sum_exp(p, args, rows, launches);
  const Reduction reduction = reduction_of(kind, type);
  if (reduction.name == nullptr) return unsupported("reduce of kind '{}'", name_of(kind));
  if (kind == ReduceKind::kMean && rows.length == 0 && !is_float(type)) return unsupported("mean of nothing");
  return reduce_rows(p, args, rows, reduction, launches);
}

Status generate_scaled_mean(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  constexpr int64_t kFitInt = 1 << 23;  // bytes whose sum does, and that of as many zero points
  Ints axes;
  for (int a = 2; a < args.inputs[0].rank(); ++a) axes.push_back(a);
  WOOTZ_ASSIGN_OR_RETURN(const Rows rows, reduced_rows(p, args, axes));
  if (rows.count == 0) return Status();
  const PoolParams& pool = p.as<PoolParams>();
  Reduction reduction{"ScaledMeanOf", true, rows.length < kFitInt ? "int" : "s64", DType::kF32, true};
  reduction.scale = pool.x_scale[0];
  reduction.zero = pool.x_zero.empty() ? 0 : static_cast<int64_t>(pool.x_zero[0]);
  return reduce_rows(p, args, rows, reduction, launches);
}

Status generate_softmax(const Problem& p, const BindArgs& args, std::string_view file, RowLengths lengths,
                        std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_images(p));
  if (!is_float(p.inputs[0].dtype)) return unsupported("softmax of {}", dtype_name(p.inputs[0].dtype));
  const Dims& x = args.inputs[0];
  const int64_t softmax_axis = p.as<SoftmaxParams>().axis;
  if (!(x == args.outputs[0]) || softmax_axis < 0 || softmax_axis >= x.rank())
    return invalid_argument("softmax of {} along axis {}", x.to_string(), softmax_axis);
  if (p.num_main != 1) return invalid_argument("softmax of {} operands", p.num_main);
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<std::vector<int64_t>> over, strides_over_x(p, args));
  Rows rows;
  for (const int a : memory_order(x.rank() < 3 ? Layout::kLinear : p.inputs[0].layout, x.rank())) {
    Axis axis{x[static_cast<size_t>(a)], {}};
    for (const auto& s : over) axis.strides.push_back(s[static_cast<size_t>(a)]);
    (a == softmax_axis ? rows.reduced : rows.kept).push_back(std::move(axis));
  }
  choose_shape(&rows);
  if (lengths == RowLengths::kBeyondRegisters && rows.kept_elements() > 0)
    return unsupported("rows of {}, which registers hold", rows.length);
  if (rows.count * rows.length == 0) return Status();
  const std::vector<std::string> names = operand_names(p);
  KernelSource source = rows_source(file, p, args, rows, names, true);
  source.fixed("kLog", p.as<SoftmaxParams>().log);
  return finish_elements(rows, p, names, &source, launches);
}

namespace {

// What is normalized together: all axes from `first` on, or each of `groups` of the channels.
struct Normalized {
  bool by_axis = true;
  int64_t first = 0, groups = 1;
};

Result<Normalized> normalized_of(const Problem& p, const Dims& x) {
  const NormParams& params = p.as<NormParams>();
  if (p.num_main > 3 || params.has_scale != (p.num_main > 1) || params.has_bias != (p.num_main > 2))
    return unsupported("norm: a bias without a scale");
  Normalized n;
  n.by_axis = params.kind == NormKind::kLayer || params.kind == NormKind::kRms || params.kind == NormKind::kL2;
  n.first = params.axis;
  if (n.by_axis && (n.first < 0 || n.first >= x.rank()))
    return invalid_argument("norm: axis {} of {}", n.first, x.to_string());
  if (!n.by_axis && x.rank() < 2) return invalid_argument("norm: {} has no channels", x.to_string());
  n.groups = n.by_axis ? 1 : params.kind == NormKind::kInstance ? x[1] : params.groups;
  if (!n.by_axis && (n.groups < 1 || x[1] % n.groups != 0))
    return invalid_argument("norm: {} groups of {} channels", n.groups, x[1]);
  return n;
}

// Scale and bias walk the normalized axes in row-major order, or the channels.
Status add_parameters(const Problem& p, const BindArgs& args, const Normalized& n,
                      std::vector<std::vector<int64_t>>* over) {
  const Dims& x = args.inputs[0];
  const int64_t begin = n.by_axis ? n.first : 1, end = n.by_axis ? x.rank() : 2;
  std::vector<int64_t> parameter(x.size(), 0);
  int64_t step = 1;
  for (int64_t a = end - 1; a >= begin; --a) {
    parameter[static_cast<size_t>(a)] = step;
    step *= x[static_cast<size_t>(a)];
  }
  for (size_t i = 1; i < static_cast<size_t>(p.num_main); ++i) {
    WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[i].dtype));
    if (args.inputs[i].volume() == step) {
      over->push_back(parameter);
      continue;
    }
    if (!n.by_axis) return unsupported("norm: a parameter of shape {} for {} values", args.inputs[i].to_string(), step);
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s, strides_over(Layout::kLinear, args.inputs[i], x));
    over->push_back(std::move(s));
  }
  return Status();
}

Rows normalized_rows(const Dims& x, Layout layout, const Normalized& n, const std::vector<std::vector<int64_t>>& over) {
  Rows rows;
  for (const int a : memory_order(x.rank() < 3 ? Layout::kLinear : layout, x.rank())) {
    const auto u = static_cast<size_t>(a);
    Axis axis{x[u], {}};
    for (const auto& s : over) axis.strides.push_back(s[u]);
    if (!n.by_axis && a == 1) {
      Axis outer = axis;
      outer.extent = n.groups;
      axis.extent = x[1] / n.groups;
      for (int64_t& s : outer.strides) s *= axis.extent;
      rows.kept.push_back(std::move(outer));
      rows.reduced.push_back(std::move(axis));
    } else {
      const bool reduce = n.by_axis ? a >= n.first : a >= 2;
      (reduce ? rows.reduced : rows.kept).push_back(std::move(axis));
    }
  }
  choose_shape(&rows);
  return rows;
}

}  // namespace

Status generate_norm(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_images(p, 2));
  if (p.outputs.size() > 1 && p.epilogue.empty()) return invalid_argument("norm: two results of one value");
  if (p.outputs.size() > 1 && (p.outputs[1].layout != p.outputs[0].layout || !(args.outputs[1] == args.outputs[0])))
    return unsupported("norm: two results of different places");
  if (!is_float(p.inputs[0].dtype)) return unsupported("norm of {}", dtype_name(p.inputs[0].dtype));
  const Dims& x = args.inputs[0];
  if (!(x == args.outputs[0]))
    return invalid_argument("norm of {} gives {}", x.to_string(), args.outputs[0].to_string());
  WOOTZ_ASSIGN_OR_RETURN(const Normalized normalized, normalized_of(p, x));
  WOOTZ_ASSIGN_OR_RETURN(std::vector<std::vector<int64_t>> over, strides_over_x(p, args));
  WOOTZ_RETURN_IF_ERROR(add_parameters(p, args, normalized, &over));
  const Rows rows = normalized_rows(x, p.inputs[0].layout, normalized, over);
  if (rows.count * rows.length == 0) return Status();
  std::vector<std::string> names = operand_names(p);
  for (int i = 1; i < p.num_main; ++i) names.emplace_back(i == 1 ? "scale" : "bias");
  KernelSource source = rows_source("norm/rows.cuh", p, args, rows, names, true);
  for (int i = 1; i < p.num_main; ++i)
    source.operand(fmt::format("const {}*", storage_type(p.inputs[static_cast<size_t>(i)].dtype)),
                   i == 1 ? "scale" : "bias", {false, i});
  const NormKind kind = p.as<NormParams>().kind;
  source.fixed("kCentered", kind != NormKind::kRms && kind != NormKind::kL2);
  source.fixed("kToLength", kind == NormKind::kL2);
  source.fixed("kParameters", p.num_main - 1);
  if (p.outputs.size() > 1)
    source.operand(fmt::format("{}* __restrict__", storage_type(p.outputs[1].dtype)), "z", {true, 1});
  source.fixed_real("kEpsilon", p.as<NormParams>().epsilon);
  return finish_elements(rows, p, names, &source, launches);
}

}  // namespace wootz::cuda
