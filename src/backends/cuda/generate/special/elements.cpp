// Ops whose every result is a short formula of its place: one thread a result.
#include <algorithm>

#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {

Status generate_one_hot(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 3));
  const Dims &index = args.inputs[0], &y = args.outputs[0];
  int64_t axis = op_params<OneHotOpParams>(p)->axis;
  if (axis < 0) axis += y.rank();
  if (axis < 0 || axis >= y.rank() || y.rank() != index.rank() + 1 || args.inputs[2].volume() != 2 ||
      p.inputs[2].dtype != p.outputs[0].dtype)
    return invalid_argument("one-hot of {} gives {}", index.to_string(), y.to_string());
  const auto a = static_cast<size_t>(axis);
  const int64_t depth = y[a], inner = volume_of(y, a + 1, y.size());
  if (volume_of(y, 0, a) * inner != index.volume())
    return invalid_argument("one-hot of {} gives {}", index.to_string(), y.to_string());
  if (y.volume() == 0) return Status();
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, y.volume(), &w, &launch));
  w.line("  const s64 c = i % {0}, rest = i / {0}, j = rest % {1}, o = rest / {1};", inner, depth);
  w.line("  const auto written = w_get(x0[o * {} + c]);", inner);
  if (is_float(p.inputs[0].dtype))
    w.line("  const bool whole = written == w_floor(written); const s64 at = w_cast<s64>(written);");
  else
    w.line("  const bool whole = true; const s64 at = (s64)written;");
  w.line("  y0[i] = x2[whole && (at == j || at + {} == j) ? 1 : 0];", depth);
  end_special(&w, std::move(launch), launches);
  return Status();
}

Status generate_trilu(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& x = args.inputs[0];
  if (x.rank() < 2 || !(x == args.outputs[0]) || p.inputs[0].dtype != p.outputs[0].dtype)
    return invalid_argument("triangle of {}", x.to_string());
  if (x.volume() == 0) return Status();
  const int64_t rows = x[x.size() - 2], columns = x.back();
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, x.volume(), &w, &launch));
  w.line("  const s64 c = i % {0}, r = i / {0} % {1};", columns, rows);
  const auto& op = *op_params<TriluOpParams>(p);
  if (const std::optional<int64_t> k = special_int(p, op.k, 1); k || !has_operand(p, 1))
    w.line("  s64 k = {}ll;", std::clamp<int64_t>(k.value_or(0), -rows, columns));
  else
    w.line("  s64 k = (s64)w_get(x1[0]); k = k < -{0} ? -{0} : k > {1} ? {1} : k;", rows, columns);
  const char* st = storage_type(p.inputs[0].dtype);
  w.line("  const {0} zero = Put<{0}>::to(0);\n  y0[i] = {1} ? x0[i] : zero;", st,
         op.upper ? "c >= r + k" : "c <= r + k");
  end_special(&w, std::move(launch), launches);
  return Status();
}

Status generate_lrn(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& x = args.inputs[0];
  const auto& op = *op_params<LrnOpParams>(p);
  const int64_t size = op.size;
  if (x.rank() < 2 || !(x == args.outputs[0]) || size < 1 || !is_float(p.inputs[0].dtype) ||
      p.inputs[0].dtype != p.outputs[0].dtype)
    return invalid_argument("normalization of {} over {} channels", x.to_string(), size);
  if (x.volume() == 0) return Status();
  const int64_t channels = x[1], inner = volume_of(x, 2, x.size()), reach = std::min(size, 2 * channels + 1);
  const char* acc = p.inputs[0].dtype == DType::kF64 ? "double" : "float";
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, x.volume(), &w, &launch));
  w.line("  typedef {} A; const int c = (int)(i / {} % {}); A sum = 0;", acc, inner, channels);
  w.line("  const int first = c - {0} < 0 ? 0 : c - {0}, last = c + {1} > {2} ? {2} : c + {1};", (reach - 1) / 2,
         reach / 2, channels - 1);
  w.line("  for (int k = first; k <= last; ++k) {{ const A v = (A)w_get(x0[i + (s64)(k - c) * {}]); sum += v * v; }}",
         inner);
  w.line("  y0[i] = Put<{}>::to((A)w_get(x0[i]) / w_pow<A>((A){:.17g} + (A){:.17g} * sum, (A){:.17g}));",
         storage_type(p.outputs[0].dtype), op.bias, op.alpha / static_cast<double>(size), op.beta);
  end_special(&w, std::move(launch), launches);
  return Status();
}

Status generate_reverse_sequence(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims& x = args.inputs[0];
  const int64_t time = op_params<ReverseSequenceOpParams>(p)->time_axis;
  if (x.rank() < 2 || !(x == args.outputs[0]) || time < 0 || time > 1 || p.inputs[0].dtype != p.outputs[0].dtype ||
      args.inputs[1].volume() != x[static_cast<size_t>(1 - time)] || !is_integer(p.inputs[1].dtype))
    return invalid_argument("sequences of {} by {} lengths", x.to_string(), args.inputs[1].to_string());
  if (x.volume() == 0) return Status();
  const int64_t inner = volume_of(x, 2, x.size());
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, x.volume(), &w, &launch));
  w.line("  const s64 c = i % {0}, b1 = i / {0} % {1}, b0 = i / {2};", inner, x[1], inner * x[1]);
  w.line("  const s64 t = {}, n = {}, length = (s64)w_get(x1[n]);", time == 0 ? "b0" : "b1", time == 0 ? "b1" : "b0");
  // A length beyond the axis reverses the whole of it.
  w.line("  const s64 end = length > {0} ? {0} : length, from = t < end ? end - 1 - t : t;",
         x[static_cast<size_t>(time)]);
  w.line("  y0[i] = x0[({} * {} + {}) * {} + c];", time == 0 ? "from" : "b0", x[1], time == 0 ? "b1" : "from", inner);
  end_special(&w, std::move(launch), launches);
  return Status();
}

// The run of positions that an update takes along one axis of a cache; a start outside a linear cache writes nothing.
Status generate_tensor_scatter(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims &x = args.inputs[0], &u = args.inputs[1];
  const auto& op = *op_params<TensorScatterOpParams>(p);
  int64_t axis = op.axis;
  if (axis < 0) axis += x.rank();
  const bool starts = has_operand(p, 2);
  if (axis < 1 || axis >= x.rank() || u.rank() != x.rank() || !(x == args.outputs[0]) ||
      p.inputs[0].dtype != p.outputs[0].dtype || p.inputs[1].dtype != p.outputs[0].dtype ||
      (starts && (args.inputs[2].volume() != x[0] || !is_integer(p.inputs[2].dtype))))
    return invalid_argument("update {} of cache {}", u.to_string(), x.to_string());
  const auto a = static_cast<size_t>(axis);
  for (size_t d = 0; d < x.size(); ++d)
    if (d == a ? u[d] > x[d] : u[d] != x[d])
      return invalid_argument("update {} of cache {}", u.to_string(), x.to_string());
  if (x.volume() == 0) return Status();
  const int64_t extent = x[a], length = u[a], inner = volume_of(x, a + 1, x.size());
  const bool circular = op.mode == CacheMode::kCircular;
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, x.volume(), &w, &launch));
  w.line("  const s64 c = i % {0}, at = i / {0} % {1}, line = i / {2};", inner, extent, inner * extent);
  w.line("  const s64 written = {};",
         starts ? fmt::format("(s64)w_get(x2[line / {}])", volume_of(x, 1, a)) : std::string("0"));
  if (circular)
    w.line("  const s64 start = (written % {0} + {0}) % {0}, k = (at - start + {0}) % {0}; const bool fits = true;",
           extent);
  else
    w.line("  const s64 k = at - written; const bool fits = written >= 0 && written <= {};", extent - length);
  w.line("  y0[i] = fits && k >= 0 && k < {0} ? x1[(line * {0} + k) * {1} + c] : x0[i];", length, inner);
  end_special(&w, std::move(launch), launches);
  return Status();
}

// One thread a line.
Status generate_hardmax(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& x = args.inputs[0];
  int64_t axis = op_params<HardmaxOpParams>(p)->axis;
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis >= x.rank() || !(x == args.outputs[0]) || !is_float(p.inputs[0].dtype) ||
      p.inputs[0].dtype != p.outputs[0].dtype)
    return invalid_argument("hardmax of {} along axis {}", x.to_string(), axis);
  if (x.volume() == 0) return Status();
  const auto a = static_cast<size_t>(axis);
  const int64_t extent = x[a], inner = volume_of(x, a + 1, x.size());
  const char* st = storage_type(p.inputs[0].dtype);
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, x.volume() / extent, &w, &launch));
  w.line("  const s64 base = i / {0} * {1} + i % {0}; int best = 0; auto top = w_get(x0[base]);", inner,
         extent * inner);
  w.line(
      "  for (int k = 1; k < {}; ++k) {{ const auto v = w_get(x0[base + (s64)k * {}]); if (v > top) {{ top = v; best = "
      "k; }} }}",
      extent, inner);
  w.line("  for (int k = 0; k < {}; ++k) y0[base + (s64)k * {}] = Put<{}>::to(k == best ? 1 : 0);", extent, inner, st);
  end_special(&w, std::move(launch), launches);
  return Status();
}

namespace {

struct Cumulative {
  MaybeInt axis;
  bool exclusive = false, reverse = false, product = false;
};
Cumulative read_cumulative(const Problem& p) {
  if (const auto* sum = op_params<CumSumOpParams>(p)) return {sum->axis, sum->exclusive, sum->reverse, false};
  const auto& product = *op_params<CumProdOpParams>(p);
  return {product.axis, product.exclusive, product.reverse, true};
}

// The axis is read where the kernel runs: a thread a line, as many as there are along the shortest axis.
Status cumulative_along_any(const Problem& p, const Dims& x, const Dims& y, std::vector<Launch>* launches) {
  const DType type = p.inputs[0].dtype;
  if (!has_operand(p, 1) || !is_integer(p.inputs[1].dtype) || !(x == y) || x.rank() == 0 || type == DType::kBool ||
      type != p.outputs[0].dtype)
    return invalid_argument("sums of {}", x.to_string());
  if (x.volume() == 0) return Status();
  const int64_t shortest = *std::min_element(x.begin(), x.end());
  const Cumulative op = read_cumulative(p);
  const bool product = op.product, exclusive = op.exclusive;
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, x.volume() / shortest, &w, &launch));
  w.line("  typedef {} A; typedef {} R; s64 axis = (s64)w_get(x1[0]); if (axis < 0) axis += {};",
         is_float(type) ? "double" : "u64", register_type(type), x.rank());
  w.line("  s64 extent = 1, inner = 1;");
  for (size_t a = 0; a < x.size(); ++a)
    w.line("  if (axis == {}) {{ extent = {}; inner = {}; }}", a, x[a], volume_of(x, a + 1, x.size()));
  w.line("  if (i >= {} / extent) return;\n  const s64 base = i / inner * (extent * inner) + i % inner;\n  A a = {};",
         x.volume(), product ? 1 : 0);
  w.line("  for (s64 e = 0; e < extent; ++e) {{ const s64 at = base + {} * inner;",
         op.reverse ? "(extent - 1 - e)" : "e");
  w.line("    const A before = a; a = a {} (A)w_get(x0[at]); y0[at] = Put<{}>::to((R){}); }}", product ? "*" : "+",
         storage_type(type), exclusive ? "before" : "a");
  end_special(&w, std::move(launch), launches);
  return Status();
}

}  // namespace

// A line along the axis: one thread, or a block whose threads take a stretch each.
Status generate_cumulative(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims& x = args.inputs[0];
  const DType type = p.inputs[0].dtype;
  const Cumulative op = read_cumulative(p);
  std::optional<int64_t> axis = special_int(p, op.axis, 1);
  if (!axis) return cumulative_along_any(p, x, args.outputs[0], launches);
  if (*axis < 0) *axis += x.rank();
  if (*axis < 0 || *axis >= x.rank() || !(x == args.outputs[0]) || type != p.outputs[0].dtype || type == DType::kBool)
    return invalid_argument("sums of {} along axis {}", x.to_string(), *axis);
  if (x.volume() == 0) return Status();
  const auto a = static_cast<size_t>(*axis);
  const int64_t extent = x[a], inner = volume_of(x, a + 1, x.size()), lines = x.volume() / extent;
  const bool product = op.product, exclusive = op.exclusive;
  const int64_t threads = extent >= 512 ? 128 : 1, stretch = (extent + threads - 1) / threads;
  const char* join = product ? "*" : "+";
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, lines * threads, &w, &launch));
  w.line("  typedef {} A; typedef {} R; const s64 line = i / {}; const int t = (int)(i % {});",
         is_float(type) ? "double" : "u64", register_type(type), threads, threads);
  w.line("  const s64 base = line / {0} * {1} + line % {0};", inner, extent * inner);
  w.line("  const int first = t * {0}, end = first + {0} > {1} ? {1} : first + {0};\n  A a = {2};", stretch, extent,
         product ? 1 : 0);
  const std::string at = op.reverse ? fmt::format("base + (s64)({} - e) * {}", extent - 1, inner)
                                    : fmt::format("base + (s64)e * {}", inner);
  if (threads > 1) {
    w.line("  __shared__ A shared[{}];", kSpecialBlock);
    w.line("  for (int e = first; e < end; ++e) a = a {} (A)w_get(x0[{}]);", join, at);
    w.line("  shared[threadIdx.x] = a;\n  __syncthreads();\n  a = {};", product ? 1 : 0);
    w.line("  for (int k = (int)threadIdx.x - t; k < (int)threadIdx.x; ++k) a = a {} shared[k];", join);
  }
  w.line("  for (int e = first; e < end; ++e) {{ const A before = a; a = a {} (A)w_get(x0[{}]);", join, at);
  w.line("    y0[{}] = Put<{}>::to((R){}); }}", at, storage_type(type), exclusive ? "before" : "a");
  end_special(&w, std::move(launch), launches);
  return Status();
}

}  // namespace wootz::cuda
