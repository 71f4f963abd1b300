// Families reduce, softmax and norm: every row (what is reduced together) belongs to a group of threads, and a block
// holds one or more groups. Sums are kept in f32, or f64 for f64.
#include <algorithm>

#include "backends/cuda/generate/columns.h"
#include "backends/cuda/generate/families.h"

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

// Opens a loop over a thread's elements of the row, r being the number of each; `body` may use v, the element as A. The
// caller closes two braces.
void begin_elements(const Rows& rows, const std::vector<Axis>& x_only, Writer* w) {
  if (const int64_t n = rows.kept_elements(); n > 0) {
    w->line("#pragma unroll\n  for (int i = 0; i < {}; ++i) {{ const int r = ty + i * {}; if (r < {}) {{", n, rows.ty,
            rows.length);
    w->line("  const A v = xs[i];");
    return;
  }
  w->line("  for (int r = ty; r < {}; r += {}) {{ {{", rows.length, rows.ty);
  w->offsets(x_only, "r", {"ix"});
  w->line("  const A v = w_get(x[bx + ix]);");
}

// Reads the thread's elements into registers, where they fit.
void read_elements(const Rows& rows, const std::vector<Axis>& x_only, Writer* w) {
  const int64_t n = rows.kept_elements();
  if (n == 0) return;
  w->line(
      "  A xs[{}];\n#pragma unroll\n  for (int i = 0; i < {}; ++i) {{ const int r = ty + i * {}; xs[i] = 0; if (r < "
      "{}) {{",
      n, n, rows.ty, rows.length);
  w->offsets(x_only, "r", {"ix"});
  w->line("  xs[i] = w_get(x[bx + ix]); }} }}");
}

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

// The kernel's head: which row and which thread of it this is, and where the row's operands begin.
void write_head(const Rows& rows, const std::string& parameters, const char* acc, const std::vector<std::string>& names,
                Writer* w) {
  w->raw(prelude());
  w->line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", rows.block(), parameters);
  w->line("  __shared__ {} shared[{}];", acc, rows.block());
  w->line("  const int t = threadIdx.x, tx = {}, ty = {};",
          rows.inner ? fmt::format("t / {}", rows.ty) : fmt::format("t % {}", rows.tx),
          rows.inner ? fmt::format("t % {}", rows.ty) : fmt::format("t / {}", rows.tx));
  w->line("  const s64 row0 = (s64)blockIdx.x * {} + tx; const bool live = row0 < {}; const s64 row = live ? row0 : 0;",
          rows.tx, rows.count);
  w->offsets(rows.kept, "row", names);
}

std::string group(const Rows& rows, const std::string& value, const char* op) {
  return fmt::format("w_group<{}, {}, {}>({}, shared, {}())", rows.tx, rows.ty, rows.inner ? "true" : "false", value,
                     op);
}

const char* accumulator(DType type) {
  if (type == DType::kF64) return "double";
  if (is_float(type)) return "float";
  return dtype_info(type).is_signed ? "s64" : "u64";
}

struct Reduction {
  ReduceKind kind;
  const char* start;  // of type A
  const char* step;   // a: so far, v: the element as A
  const char* op;     // joins two partial results
  const char* end;
};
constexpr Reduction kReductions[] = {
    {ReduceKind::kSum, "0", "a + v", "Sum", "a"},
    {ReduceKind::kMean, "0", "a + v", "Sum", "a / (A)LENGTH"},
    {ReduceKind::kMax, "LOW", "w_max<A>(a, v)", "Max", "a"},
    {ReduceKind::kMin, "HIGH", "w_min<A>(a, v)", "Min", "a"},
    {ReduceKind::kProd, "1", "a * v", "Prod", "a"},
    {ReduceKind::kL1, "0", "a + w_abs<A>(v)", "Sum", "a"},
    {ReduceKind::kL2, "0", "a + v * v", "Sum", "w_cast<A>(w_sqrt(FLOAT a))"},
    {ReduceKind::kSumSq, "0", "a + v * v", "Sum", "a"},
    {ReduceKind::kLogSum, "0", "a + v", "Sum", "w_cast<A>(w_log(FLOAT a))"},
};

std::string replace(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

Status check_images(const Problem& p) {
  if (p.num_main < 1 || p.inputs.empty() || p.outputs.size() != 1)
    return invalid_argument("{} inputs, {} outputs", p.num_main, p.outputs.size());
  const TensorDesc &x = p.inputs[0], &y = p.outputs[0];
  WOOTZ_RETURN_IF_ERROR(check_type(x.dtype));
  if (!is_plain(x.layout) || !is_plain(y.layout)) return unsupported("layout {}", layout_name(x.layout));
  return check_epilogue(p, x.dtype);
}

Status finish(const Rows& rows, Writer* w, std::vector<Pointer> pointers, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_count(rows.count));
  Launch launch;
  launch.source = w->text();
  launch.size.block = static_cast<unsigned>(rows.block());
  launch.size.grid_x = blocks_for(rows.count, rows.tx);
  launch.pointers = std::move(pointers);
  launches->push_back(std::move(launch));
  return Status();
}

std::vector<std::string> row_names(size_t extras) {
  std::vector<std::string> names{"bx", "by"};
  for (size_t k = 1; k <= extras; ++k) names.push_back(fmt::format("b{}", k));
  return names;
}

// Softmax and norm: `names` and offsets of an element r of the row, then its result by `value`, stored.
Status write_elements(const Rows& rows, const Problem& p, size_t extras, const std::string& value,
                      const std::vector<Axis>& x_only, Writer* w) {
  w->line("  if (live) {{");
  begin_elements(rows, x_only, w);
  std::vector<std::string> inner{"unused", "iy"};
  std::vector<std::string> names;
  for (size_t k = 1; k <= extras; ++k) inner.push_back(fmt::format("i{}", k));
  for (size_t k = 1; k <= p.inputs.size() - static_cast<size_t>(p.num_main); ++k)
    names.push_back(fmt::format("b{} + i{}", k, k));
  w->offsets(rows.reduced, "r", inner);
  w->line("  const auto f = {};", value);
  WOOTZ_RETURN_IF_ERROR(write_epilogue(p, p.inputs[0].dtype, "f", names, "by + iy", w));
  w->line("  }} }} }}\n}}");
  return Status();
}

}  // namespace

Status generate_reduce(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_images(p));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const int rank = x.rank();
  std::vector<bool> reduced(x.size(), false);
  for (const int64_t a : p.as<ReduceParams>().axes) {
    if (a < 0 || a >= rank || reduced[static_cast<size_t>(a)]) return invalid_argument("reduce: axis {}", a);
    reduced[static_cast<size_t>(a)] = true;
  }
  const Layout layout = rank < 3 ? Layout::kLinear : p.inputs[0].layout;
  const bool same_rank = y.rank() == rank;
  if (!same_rank && (layout != Layout::kLinear || p.outputs[0].layout != Layout::kLinear) &&
      (rank >= 3 && layout != Layout::kLinear))
    return unsupported("reduce that drops image axes in layout {}", layout_name(layout));
  // Strides of y and the epilogue's operands over y's axes, which are x's kept ones (and extents of 1).
  const Dims xs = layout_strides(layout, x);
  std::vector<std::vector<int64_t>> over;
  WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> ys, strides_over(p.outputs[0].layout, y, y));
  over.push_back(std::move(ys));
  const auto main = static_cast<size_t>(p.num_main);
  for (size_t i = main; i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s, strides_over(p.inputs[i].layout, args.inputs[i], y));
    over.push_back(std::move(s));
  }
  std::vector<int> axis_of_y(x.size(), -1);
  int next = 0;
  for (int a = 0; a < rank; ++a) {
    if (reduced[static_cast<size_t>(a)] && !same_rank) continue;
    axis_of_y[static_cast<size_t>(a)] = next++;
  }
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
  if (rows.count == 0) return Status();
  if (rows.length != 0 && !rows.inner) {
    WOOTZ_ASSIGN_OR_RETURN(const bool done, generate_columns(p, rows.kept, rows.reduced, launches));
    if (done) return Status();
  }
  const ReduceKind kind = p.as<ReduceParams>().kind;
  const DType type = p.inputs[0].dtype;
  const char* acc = accumulator(type);
  const char* reg = register_type(type);
  Writer w;
  std::string parameters = fmt::format("{}* __restrict__ y, const {}* __restrict__ x, {}",
                                       storage_type(p.outputs[0].dtype), storage_type(type), epilogue_parameters(p));
  parameters.resize(parameters.size() - 2);
  std::vector<Pointer> pointers{{true, 0}, {false, 0}};
  add_epilogue_pointers(p, &pointers);
  const size_t extras = p.inputs.size() - main;
  write_head(rows, parameters, acc, row_names(extras), &w);
  w.line("  typedef {} A; typedef {} R;", acc, reg);
  const bool real = is_float(type);
  const auto text = [&](const char* t) {
    std::string s = replace(t, "LENGTH", std::to_string(rows.length));
    s = replace(s, "LOW", real ? "-(A)W_INF" : fmt::format("(A)Lim<{}>::lo", reg));
    if (type == DType::kU64) s = replace(s, "HIGH", "~(A)0");
    s = replace(s, "HIGH", real ? "(A)W_INF" : fmt::format("(A)Lim<{}>::hi", reg));
    return replace(s, "FLOAT", real ? "" : "(double)");
  };
  std::vector<std::string> names;
  for (size_t k = 1; k <= extras; ++k) names.push_back(fmt::format("b{}", k));
  const auto loop = [&](const char* start, const std::string& step) {
    w.line("  {{ A a = (A)({});", start);
    w.line("  for (int r = ty; r < {}; r += {}) {{", rows.length, rows.ty);
    std::vector<Axis> only;
    for (const Axis& axis : rows.reduced) only.push_back({axis.extent, {axis.strides[0]}});
    w.offsets(only, "r", {"ix"});
    w.line("  const A v = (A)w_get(x[bx + ix]); a = {};\n  }}", step);
  };
  if (kind == ReduceKind::kLogSumExp) {
    if (!real) return unsupported("reduce logsumexp of {}", dtype_name(type));
    w.line("  A top;");
    loop("-(A)W_INF", "w_max<A>(a, v)");
    w.line("  top = {}; if (top == (A)W_INF || top == -(A)W_INF) top = 0; }}\n  A a;", group(rows, "a", "Max"));
    w.line("  A total;");
    loop("0", "a + w_exp(v - top)");
    w.line("  total = {}; }}\n  a = w_log(total) + top;", group(rows, "a", "Sum"));
  } else {
    const Reduction* r = nullptr;
    for (const Reduction& each : kReductions)
      if (kind == each.kind) r = &each;
    if (r == nullptr) return unsupported("reduce of kind '{}'", name_of(kind));
    if (kind == ReduceKind::kMean && rows.length == 0 && !real) return unsupported("mean of nothing");
    w.line("  A total;");
    loop(text(r->start).c_str(), text(r->step));
    w.line("  total = {}; }}\n  A a = total; a = {};", group(rows, "a", r->op), text(r->end));
  }
  w.line("  if (!live || ty != 0) return;\n  const R f = (R)a;");
  WOOTZ_RETURN_IF_ERROR(write_epilogue(p, type, "f", names, "by", &w));
  w.line("}}");
  return finish(rows, &w, std::move(pointers), launches);
}

Status generate_softmax(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_images(p));
  const DType type = p.inputs[0].dtype;
  if (!is_float(type)) return unsupported("softmax of {}", dtype_name(type));
  const Dims& x = args.inputs[0];
  const int64_t softmax_axis = p.as<SoftmaxParams>().axis;
  if (!(x == args.outputs[0]) || softmax_axis < 0 || softmax_axis >= x.rank())
    return invalid_argument("softmax of {} along axis {}", x.to_string(), softmax_axis);
  const auto main = static_cast<size_t>(p.num_main);
  if (main != 1) return invalid_argument("softmax of {} operands", main);
  std::vector<std::vector<int64_t>> over;
  WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> xs, strides_over(p.inputs[0].layout, x, x));
  WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> ys, strides_over(p.outputs[0].layout, x, x));
  over.push_back(std::move(xs));
  over.push_back(std::move(ys));
  for (size_t i = main; i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s, strides_over(p.inputs[i].layout, args.inputs[i], x));
    over.push_back(std::move(s));
  }
  Rows rows;
  for (const int a : memory_order(x.rank() < 3 ? Layout::kLinear : p.inputs[0].layout, x.rank())) {
    Axis axis{x[static_cast<size_t>(a)], {}};
    for (const auto& s : over) axis.strides.push_back(s[static_cast<size_t>(a)]);
    (a == softmax_axis ? rows.reduced : rows.kept).push_back(std::move(axis));
  }
  choose_shape(&rows);
  if (rows.count * rows.length == 0) return Status();
  const size_t extras = p.inputs.size() - main;
  std::string parameters = fmt::format("{}* y, const {}* x, {}", storage_type(p.outputs[0].dtype), storage_type(type),
                                       epilogue_parameters(p));
  parameters.resize(parameters.size() - 2);
  std::vector<Pointer> pointers{{true, 0}, {false, 0}};
  add_epilogue_pointers(p, &pointers);
  Writer w;
  write_head(rows, parameters, accumulator(type), row_names(extras), &w);
  w.line("  typedef {} A;", accumulator(type));
  std::vector<Axis> only;
  for (const Axis& axis : rows.reduced) only.push_back({axis.extent, {axis.strides[0]}});
  const auto loop = [&](const char* step) {
    begin_elements(rows, only, &w);
    w.line("  a = {}; }} }}", step);
  };
  read_elements(rows, only, &w);
  w.line("  A a = -(A)W_INF;");
  loop("w_max<A>(a, v)");
  w.line("  const A top = {};\n  a = 0;", group(rows, "a", "Max"));
  loop("a + w_exp(v - top)");
  w.line("  const A total = {};", group(rows, "a", "Sum"));
  const bool log = p.as<SoftmaxParams>().log;
  w.line("  const A scale = {};", log ? "w_log(total)" : "(A)1 / total");
  WOOTZ_RETURN_IF_ERROR(
      write_elements(rows, p, extras, log ? "(v - top) - scale" : "w_exp(v - top) * scale", only, &w));
  return finish(rows, &w, std::move(pointers), launches);
}

Status generate_norm(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_images(p));
  const DType type = p.inputs[0].dtype;
  if (!is_float(type)) return unsupported("norm of {}", dtype_name(type));
  const Dims& x = args.inputs[0];
  if (!(x == args.outputs[0]))
    return invalid_argument("norm of {} gives {}", x.to_string(), args.outputs[0].to_string());
  if (p.num_main > 3 || p.as<NormParams>().has_scale != (p.num_main > 1) ||
      p.as<NormParams>().has_bias != (p.num_main > 2))
    return unsupported("norm: a bias without a scale");
  const NormKind kind = p.as<NormParams>().kind;
  const bool by_length = kind == NormKind::kL2,
             by_axis = kind == NormKind::kLayer || kind == NormKind::kRms || by_length;
  const bool centered = kind != NormKind::kRms && !by_length;
  const int64_t first = p.as<NormParams>().axis;
  if (by_axis && (first < 0 || first >= x.rank())) return invalid_argument("norm: axis {} of {}", first, x.to_string());
  if (!by_axis && x.rank() < 2) return invalid_argument("norm: {} has no channels", x.to_string());
  const int64_t groups = by_axis ? 1 : kind == NormKind::kInstance ? x[1] : p.as<NormParams>().groups;
  if (!by_axis && (groups < 1 || x[1] % groups != 0))
    return invalid_argument("norm: {} groups of {} channels", groups, x[1]);
  const auto main = static_cast<size_t>(p.num_main);
  std::vector<std::vector<int64_t>> over;
  WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> xs, strides_over(p.inputs[0].layout, x, x));
  WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> ys, strides_over(p.outputs[0].layout, x, x));
  over.push_back(std::move(xs));
  over.push_back(std::move(ys));
  for (size_t i = main; i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s, strides_over(p.inputs[i].layout, args.inputs[i], x));
    over.push_back(std::move(s));
  }
  // Scale and bias walk the normalized axes in row-major order, or the channels.
  int64_t normalized = 1;
  for (int64_t a = by_axis ? first : 1; a < (by_axis ? x.rank() : 2); ++a) normalized *= x[static_cast<size_t>(a)];
  std::vector<int64_t> parameter(x.size(), 0);
  int64_t step = 1;
  for (int64_t a = by_axis ? x.rank() - 1 : 1; a >= (by_axis ? first : 1); --a) {
    parameter[static_cast<size_t>(a)] = step;
    step *= x[static_cast<size_t>(a)];
  }
  for (size_t i = 1; i < main; ++i) {
    WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[i].dtype));
    if (args.inputs[i].volume() == normalized) {
      over.push_back(parameter);
      continue;
    }
    if (!by_axis)
      return unsupported("norm: a parameter of shape {} for {} values", args.inputs[i].to_string(), normalized);
    WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s, strides_over(Layout::kLinear, args.inputs[i], x));
    over.push_back(std::move(s));
  }
  Rows rows;
  for (const int a : memory_order(x.rank() < 3 ? Layout::kLinear : p.inputs[0].layout, x.rank())) {
    const auto u = static_cast<size_t>(a);
    Axis axis{x[u], {}};
    for (const auto& s : over) axis.strides.push_back(s[u]);
    if (!by_axis && a == 1) {
      Axis outer = axis;
      outer.extent = groups;
      axis.extent = x[1] / groups;
      for (int64_t& s : outer.strides) s *= axis.extent;
      rows.kept.push_back(std::move(outer));
      rows.reduced.push_back(std::move(axis));
    } else {
      const bool reduce = by_axis ? a >= first : a >= 2;
      (reduce ? rows.reduced : rows.kept).push_back(std::move(axis));
    }
  }
  choose_shape(&rows);
  if (rows.count * rows.length == 0) return Status();
  const size_t extras = p.inputs.size() - main + (main - 1);
  std::string parameters = fmt::format("{}* y, const {}* x, {}", storage_type(p.outputs[0].dtype), storage_type(type),
                                       epilogue_parameters(p));
  std::vector<Pointer> pointers{{true, 0}, {false, 0}};
  add_epilogue_pointers(p, &pointers);
  const size_t plain = p.inputs.size() - main;
  for (size_t i = 1; i < main; ++i) {
    parameters += fmt::format("const {}* __restrict__ q{}, ", storage_type(p.inputs[i].dtype), i);
    pointers.push_back({false, static_cast<int>(i)});
  }
  parameters.resize(parameters.size() - 2);
  Writer w;
  write_head(rows, parameters, accumulator(type), row_names(extras), &w);
  w.line("  typedef {} A;", accumulator(type));
  std::vector<Axis> only;
  for (const Axis& axis : rows.reduced) only.push_back({axis.extent, {axis.strides[0]}});
  const auto loop = [&](const char* change) {
    begin_elements(rows, only, &w);
    w.line("  {} }} }}", change);
  };
  read_elements(rows, only, &w);
  w.line("  A a = 0, mean = 0;");
  if (centered) {
    loop("a += v;");
    w.line("  mean = {} / (A){};\n  a = 0;", group(rows, "a", "Sum"), rows.length);
  }
  loop("const A d = v - mean; a += d * d;");
  const double epsilon = p.as<NormParams>().epsilon;
  if (by_length)
    w.line("  a = w_sqrt({0}); const A factor = (A)1 / (a < (A){1:.17g} ? (A){1:.17g} : a);", group(rows, "a", "Sum"),
           epsilon);
  else
    w.line("  const A factor = (A)1 / w_sqrt({} / (A){} + (A){:.17g});", group(rows, "a", "Sum"), rows.length, epsilon);
  std::string value = "(v - mean) * factor";
  if (main > 1) value += fmt::format(" * (A)w_get(q1[b{0} + i{0}])", plain + 1);
  if (main > 2) value += fmt::format(" + (A)w_get(q2[b{0} + i{0}])", plain + 2);
  WOOTZ_RETURN_IF_ERROR(write_elements(rows, p, extras, value, only, &w));
  return finish(rows, &w, std::move(pointers), launches);
}

}  // namespace wootz::cuda
