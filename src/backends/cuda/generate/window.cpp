// Families pool and conv, one thread a result: the general form, for what the libraries do not take (depthwise and odd
// groups, transposed, other types) and for small cases. Neighbouring threads make neighbours in the output's memory.
#include <algorithm>

#include "backends/cuda/byte_weights.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/window.h"

namespace wootz::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int64_t kMostBytes = 1024;  // products of a sum that a thread adds up alone, of 8 bits; more go to float

size_t scales_begin(int64_t weights) { return (static_cast<size_t>(weights) + 15) / 16 * 16; }

// "const int n, c, q0, q1...": the logical coordinates of output element i, and offsets of y and the epilogue's
// operands.
Status write_coordinates(const Problem& p, const BindArgs& args, Writer* w, std::vector<std::string>* names) {
  const Dims& y = args.outputs[0];
  const Layout layout = y.rank() < 3 ? Layout::kLinear : p.outputs[0].layout;
  WOOTZ_RETURN_IF_ERROR(check_count(y.volume()));
  if (y.volume() >= (int64_t{1} << 31)) return unsupported("{} results", y.volume());
  w->line("  const u32 i = blockIdx.x * {}u + threadIdx.x;\n  if (i >= {}u) return;\n  u32 rest = i;", kBlock,
          y.volume());
  const std::vector<int> order = memory_order(layout, y.rank());
  for (size_t k = order.size(); k-- > 0;)
    w->line("  const int d{0} = rest % {1}u; rest /= {1}u;", order[k], y[static_cast<size_t>(order[k])]);
  for (size_t i = static_cast<size_t>(p.num_main); i < p.inputs.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> s, strides_over(p.inputs[i].layout, args.inputs[i], y));
    std::string sum = "0";
    for (size_t a = 0; a < s.size(); ++a)
      if (s[a] != 0) sum += fmt::format(" + d{} * {}", a, s[a]);
    const std::string name = fmt::format("b{}", i - static_cast<size_t>(p.num_main) + 1);
    w->line("  const int {} = {};", name, sum);
    names->push_back(name);
  }
  return Status();
}

// The window is the whole image, and nothing else is in it.
bool is_whole(const Window& w, const Dims& x, const Dims& y) {
  bool whole = true;
  for (size_t k = 0; k < w.kernel.size(); ++k)
    whole = whole && y[k + 2] == 1 && w.kernel[k] == x[k + 2] && (x[k + 2] == 1 || w.dilations[k] == 1);
  for (const int64_t pad : w.pads) whole = whole && pad == 0;
  return whole;
}

void add_launch(const Dims& y, Writer* w, std::vector<Pointer> pointers, std::vector<Launch>* launches) {
  Launch launch;
  launch.source = w->text();
  launch.size.block = kBlock;
  launch.size.grid_x = blocks_for(y.volume(), kBlock);
  launch.pointers = std::move(pointers);
  launches->push_back(std::move(launch));
}

}  // namespace

Status check_window(const Problem& p, const BindArgs& args, size_t inputs, size_t outputs) {
  if (static_cast<size_t>(p.num_main) < 1 || p.inputs.size() < inputs || p.outputs.size() != outputs)
    return invalid_argument("{} inputs, {} outputs", p.num_main, p.outputs.size());
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  if (x.rank() < 3 || x.rank() > 5 || y.rank() != x.rank() || x[0] != y[0])
    return unsupported("{} to {}", x.to_string(), y.to_string());
  if (!is_plain(p.inputs[0].layout) || !is_plain(p.outputs[0].layout)) return unsupported("layout");
  WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[0].dtype));
  // What 8 bits with a scale come to is a float.
  return check_epilogue(p, has_scales(p) ? DType::kF32 : p.inputs[0].dtype);
}

Status check_values(const std::vector<int64_t>& values, size_t count, int64_t least) {
  if (values.size() != count) return invalid_argument("{} values for {} axes", values.size(), count);
  for (const int64_t v : values)
    if (v < least || v > (1 << 24)) return invalid_argument("a window parameter of {}", v);
  return Status();
}

Result<Window> pool_window(const Problem& p, const Dims& x) {
  const size_t n = x.size() - 2;
  Window w{p.as<PoolParams>().kernel, p.as<PoolParams>().strides, p.as<PoolParams>().dilations,
           p.as<PoolParams>().pads};
  if (p.as<PoolParams>().global) {
    w.kernel.assign(x.begin() + 2, x.end());
    w.strides.assign(n, 1);
    w.dilations.assign(n, 1);
    w.pads.assign(2 * n, 0);
  }
  WOOTZ_RETURN_IF_ERROR(check_values(w.kernel, n, 0));
  WOOTZ_RETURN_IF_ERROR(check_values(w.strides, n, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(w.dilations, n, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(w.pads, 2 * n, 0));
  return w;
}

Status generate_pool(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const bool indices = p.outputs.size() == 2 && p.as<PoolParams>().kind == PoolKind::kMax;
  WOOTZ_RETURN_IF_ERROR(check_window(p, args, 1, indices ? 2 : 1));
  if (indices && (p.outputs[1].dtype != DType::kI64 || p.outputs[1].layout != p.outputs[0].layout ||
                  !(args.outputs[1] == args.outputs[0])))
    return unsupported("indices of {}", dtype_name(p.outputs[1].dtype));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const PoolKind kind = p.as<PoolParams>().kind;
  const DType type = p.inputs[0].dtype;
  if (p.num_main != 1 || x[1] != y[1]) return invalid_argument("pool of {} to {}", x.to_string(), y.to_string());
  const bool scaled = has_scales(p);
  if (scaled && (kind != PoolKind::kAvg || !is_byte(type) || p.as<PoolParams>().x_scale.size() != 1))
    return unsupported("pool {} of scaled {}", name_of(kind), dtype_name(type));
  if (!is_float(type) && kind != PoolKind::kMax && !scaled)
    return unsupported("pool {} of {}", name_of(kind), dtype_name(type));
  const size_t n = x.size() - 2;
  WOOTZ_ASSIGN_OR_RETURN(const Window window, pool_window(p, x));
  const auto& [kernel, strides, dilations, pads] = window;
  if (!indices && !scaled && is_whole(window, x, y) &&
      (kind == PoolKind::kAvg || kind == PoolKind::kMax)) {  // one result a channel: a reduction
    Problem reduce = p;
    std::vector<int64_t> axes;
    for (size_t a = 2; a < x.size(); ++a) axes.push_back(static_cast<int64_t>(a));
    reduce.params =
        ReduceParams{.kind = kind == PoolKind::kAvg ? ReduceKind::kMean : ReduceKind::kMax, .axes = std::move(axes)};
    return generate_reduce(reduce, args, launches);
  }
  if (y.volume() == 0) return Status();
  const Dims xs = layout_strides(p.inputs[0].layout, x), ys = layout_strides(p.outputs[0].layout, y);
  Writer w;
  w.raw(prelude());
  const char* acc = scaled                   ? "int"
                    : kind == PoolKind::kMax ? register_type(type)
                                             : (type == DType::kF64 ? "double" : "float");
  std::string parameters = fmt::format("{}* __restrict__ y, const {}* __restrict__ x, {}",
                                       storage_type(p.outputs[0].dtype), storage_type(type), epilogue_parameters(p));
  if (indices) parameters += "s64* __restrict__ place, ";
  parameters.resize(parameters.size() - 2);
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kBlock, parameters);
  std::vector<std::string> names;
  WOOTZ_RETURN_IF_ERROR(write_coordinates(p, args, &w, &names));
  if (indices) w.line("  s64 best = -1;");
  const bool real = is_float(type);
  w.line("  typedef {} A; A a = {}; int inside = 0, padded = 0;", acc,
         kind != PoolKind::kMax ? "0"
         : real                 ? "-(A)W_INF"
                                : fmt::format("(A)Lim<{}>::lo", register_type(type)));
  w.line("  const s64 base = (s64)d0 * {} + (s64)d1 * {};", xs[0], xs[1]);
  std::string sum = "base", within, in_padding, element = "0";
  const bool by_columns = p.as<PoolParams>().storage_order != 0;  // the first spatial axis runs fastest
  int64_t plane = 1;
  for (size_t k = 0; k < n; ++k) {
    w.line("  for (int t{0} = 0; t{0} < {1}; ++t{0}) {{ const int q{0} = d{2} * {3} - {4} + t{0} * {5};", k, kernel[k],
           k + 2, strides[k], pads[k], dilations[k]);
    sum += fmt::format(" + (s64)q{} * {}", k, xs[k + 2]);
    element = by_columns ? fmt::format("{} + (s64)q{} * {}", element, k, plane)
                         : fmt::format("({}) * {} + q{}", element, x[k + 2], k);
    plane *= x[k + 2];
    within += fmt::format("{}q{} >= 0 && q{} < {}", k ? " && " : "", k, k, x[k + 2]);
    in_padding += fmt::format("{}q{} < {}", k ? " && " : "", k, x[k + 2] + pads[k + n]);
  }
  w.line("  if ({}) ++padded;\n  if ({}) {{ ++inside; const A v = (A)w_get(x[{}]);", in_padding, within, sum);
  const int64_t power = p.as<PoolParams>().p;
  if (kind == PoolKind::kLp && power < 1) return invalid_argument("pool: p is {}", power);
  if (indices)
    w.line("    if (best < 0 || v > a || (v != v && a == a)) {{ a = v; best = {}; }} }}", element);
  else
    w.line("    a = {}; }}", kind == PoolKind::kMax   ? "w_max<A>(a, v)"
                             : kind == PoolKind::kAvg ? "a + v"
                             : power == 1             ? "a + w_abs<A>(v)"
                             : power == 2             ? "a + v * v"
                                                      : fmt::format("a + w_pow<A>(w_abs<A>(v), (A){})", power));
  for (size_t k = 0; k < n; ++k) w.raw("  }");
  if (kind == PoolKind::kAvg)
    w.line("\n  const int by = {};", p.as<PoolParams>().count_include_pad ? "padded" : "inside");
  if (kind == PoolKind::kAvg && !scaled) w.line("  a = by == 0 ? (A)0 : a / (A)by;");
  if (scaled) {
    const Floats& zero = p.as<PoolParams>().x_zero;
    w.line("  const float mean = by == 0 ? 0.0f : (float)(a - inside * {}) * (float){:.17g} / (float)by;",
           zero.empty() ? 0 : static_cast<int>(zero[0]), p.as<PoolParams>().x_scale[0]);
  }
  if (kind == PoolKind::kLp && power != 1)
    w.line("\n  a = {};", power == 2 ? "w_sqrt(a)" : fmt::format("w_pow<A>(a, (A)1 / (A){})", power));
  std::string at = "0";
  for (size_t a = 0; a < ys.size(); ++a) at += fmt::format(" + (s64)d{} * {}", a, ys[a]);
  if (indices) w.line("  place[{}] = ((s64)d0 * {} + d1) * {} + best;", at, x[1], plane);
  WOOTZ_RETURN_IF_ERROR(write_epilogue(p, type, scaled ? "mean" : "a", names, at, &w));
  w.line("}}");
  std::vector<Pointer> pointers{{true, 0}, {false, 0}};
  add_epilogue_pointers(p, &pointers);
  if (indices) pointers.push_back({true, 1});
  add_launch(y, &w, std::move(pointers), launches);
  return Status();
}

// Of bytes: behind the weights, a scale for each channel of the result.
Result<std::optional<PackedForm>> pack_direct(const Problem& p, int input, const HostTensor& source) {
  if (input != 1 || !has_scales(p)) return std::optional<PackedForm>{};
  const int64_t channels = p.outputs[0].dims[1];
  WOOTZ_ASSIGN_OR_RETURN(const ProductScales scales, byte_scales(p, channels));
  const auto pack = [source, channels, scales]() -> Result<std::vector<std::byte>> {
    const auto* from = static_cast<const std::byte*>(source.data());
    std::vector<std::byte> out(from, from + source.bytes());
    out.resize(scales_begin(source.volume()));
    for (int64_t c = 0; c < channels; ++c) {
      const auto scale = static_cast<float>(scales.of(c));
      const auto* bytes = reinterpret_cast<const std::byte*>(&scale);
      out.insert(out.end(), bytes, bytes + sizeof scale);
    }
    return out;
  };
  return std::optional(packed_by(scales_begin(source.volume()) + static_cast<size_t>(channels) * sizeof(float), pack));
}

Status generate_conv(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_window(p, args, 2));
  const Dims &x = args.inputs[0], &f = args.inputs[1], &y = args.outputs[0];
  const DType type = p.inputs[0].dtype;
  const bool scaled = has_scales(p);
  if (scaled ? !is_byte(type) || p.inputs[1].dtype != DType::kI8 || !p.inputs[1].constant
             : !is_float(type) || p.inputs[1].dtype != type)
    return unsupported("convolution of {} by {}", dtype_name(type), dtype_name(p.inputs[1].dtype));
  const bool bias = p.as<ConvParams>().has_bias, transposed = p.as<ConvParams>().transposed;
  if (p.num_main != (bias ? 3 : 2)) return invalid_argument("convolution of {} operands", p.num_main);
  const bool packed = scaled && p.inputs[1].layout == Layout::kOpaque;
  if ((p.inputs[1].layout != Layout::kLinear && !packed) || f.rank() != x.rank())
    return unsupported("weights {}", f.to_string());
  const size_t n = x.size() - 2;
  const Ints &strides = p.as<ConvParams>().strides, dilations = p.as<ConvParams>().dilations,
             pads = p.as<ConvParams>().pads;
  WOOTZ_RETURN_IF_ERROR(check_values(strides, n, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(dilations, n, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(pads, 2 * n, 0));
  const int64_t groups = p.as<ConvParams>().groups, in_channels = x[1], out_channels = y[1];
  if (groups < 1 || in_channels % groups != 0 || out_channels % groups != 0)
    return invalid_argument("{} groups of {} and {} channels", groups, in_channels, out_channels);
  const int64_t per_in = in_channels / groups, per_out = out_channels / groups;
  if (f[0] != (transposed ? in_channels : out_channels) || f[1] != (transposed ? per_out : per_in))
    return invalid_argument("weights {} for {} to {} channels", f.to_string(), in_channels, out_channels);
  if (bias && args.inputs[2].volume() != out_channels)
    return invalid_argument("a bias of {} for {} channels", args.inputs[2].to_string(), out_channels);
  if (bias) WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[2].dtype));
  if (scaled && f.volume() > out_channels * kMostBytes)
    return unsupported("sums of {} products of bytes, one by one", f.volume() / std::max<int64_t>(1, out_channels));
  if (scaled && args.constant_bytes.size() > 1 && args.constants[1] != nullptr &&
      args.constant_bytes[1] < scales_begin(f.volume()) + static_cast<size_t>(out_channels) * sizeof(float))
    return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[1], f.to_string());
  if (y.volume() == 0) return Status();
  const Dims xs = layout_strides(p.inputs[0].layout, x), ys = layout_strides(p.outputs[0].layout, y), fs = f.strides();
  Writer w;
  w.raw(prelude());
  std::string parameters = fmt::format(
      "{}* __restrict__ y, const {}* __restrict__ x, const {}* __restrict__ f, {}{}", storage_type(p.outputs[0].dtype),
      storage_type(type), storage_type(p.inputs[1].dtype), epilogue_parameters(p),
      bias ? fmt::format("const {}* __restrict__ b, ", storage_type(p.inputs[2].dtype)) : "");
  parameters.resize(parameters.size() - 2);
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kBlock, parameters);
  std::vector<std::string> names;
  WOOTZ_RETURN_IF_ERROR(write_coordinates(p, args, &w, &names));
  const char* acc = scaled ? "int" : type == DType::kF64 ? "double" : "float";
  w.line("  typedef {} A; A a = {};", acc, bias && !scaled ? "(A)w_get(b[d1])" : "0");
  w.line("  const int g = d1 / {}, m = d1 % {};", per_out, per_out);
  w.line("  const s64 base = (s64)d0 * {} + (s64)g * {};", xs[0], per_in * xs[1]);
  w.line("  const s64 weights = {};", transposed ? fmt::format("(s64)g * {} + (s64)m * {}", per_in * fs[0], fs[1])
                                                 : fmt::format("(s64)d1 * {}", fs[0]));
  std::string at_x = "base", at_f = "weights";
  for (size_t k = 0; k < n; ++k) {
    w.line("#pragma unroll 1\n  for (int t{0} = 0; t{0} < {1}; ++t{0}) {{", k, f[k + 2]);
    if (transposed)
      w.line(
          "  const int u{0} = d{1} + {2} - t{0} * {3}; const int q{0} = u{0} / {4}; if (u{0} < 0 || u{0} % {4} != 0 || "
          "q{0} >= {5}) continue;",
          k, k + 2, pads[k], dilations[k], strides[k], x[k + 2]);
    else
      w.line("  const int q{0} = d{1} * {2} - {3} + t{0} * {4}; if (q{0} < 0 || q{0} >= {5}) continue;", k, k + 2,
             strides[k], pads[k], dilations[k], x[k + 2]);
    at_x += fmt::format(" + (s64)q{} * {}", k, xs[k + 2]);
    at_f += fmt::format(" + t{} * {}", k, fs[k + 2]);
  }
  w.line("  const {}* xp = x + ({}); const {}* fp = f + ({});", storage_type(type), at_x,
         storage_type(p.inputs[1].dtype), at_f);
  const Floats& zeros = p.as<ConvParams>().x_zero;
  const int zero = scaled && !zeros.empty() ? static_cast<int>(zeros[0]) : 0;
  w.line(
      "#pragma unroll 4\n  for (int c = 0; c < {}; ++c) a += {}(A)w_get(xp[(s64)c * {}]){} * (A)w_get(fp[(s64)c * "
      "{}]);",
      per_in, zero == 0 ? "" : "(", xs[1], zero == 0 ? "" : fmt::format(" - {})", zero), transposed ? fs[0] : fs[1]);
  for (size_t k = 0; k < n; ++k) w.raw("  }");
  w.raw("\n");
  std::string at = "0";
  for (size_t a = 0; a < ys.size(); ++a) at += fmt::format(" + (s64)d{} * {}", a, ys[a]);
  if (scaled)
    w.line("  const float result = (float)a * ((const float*)(f + {}))[d1]{};", scales_begin(f.volume()),
           bias ? " + (float)w_get(b[d1])" : "");
  WOOTZ_RETURN_IF_ERROR(write_epilogue(p, type, scaled ? "result" : "a", names, at, &w));
  w.line("}}");
  std::vector<Pointer> pointers{{true, 0}, {false, 0}, {false, 1}};
  add_epilogue_pointers(p, &pointers);
  if (bias) pointers.push_back({false, 2});
  add_launch(y, &w, std::move(pointers), launches);
  return Status();
}

Status generate_gemm(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const bool bias = p.as<GemmParams>().has_bias;
  if (p.num_main != (bias ? 3 : 2) || p.inputs.size() < static_cast<size_t>(p.num_main) || p.outputs.size() != 1)
    return invalid_argument("product of {} operands", p.num_main);
  const Dims &a = args.inputs[0], &b = args.inputs[1], &y = args.outputs[0];
  const DType type = p.inputs[0].dtype;
  if (p.inputs[1].dtype != type || !p.as<GemmParams>().x_scale.empty())
    return unsupported("product of {} and {}", dtype_name(type), dtype_name(p.inputs[1].dtype));
  WOOTZ_RETURN_IF_ERROR(check_type(type));
  WOOTZ_RETURN_IF_ERROR(check_epilogue(p, type));
  for (const TensorDesc& t : p.inputs)
    if (t.layout != Layout::kLinear) return unsupported("product in layout {}", layout_name(t.layout));
  if (p.outputs[0].layout != Layout::kLinear || a.rank() < 2 || b.rank() < 2 || y.rank() < 2)
    return unsupported("product of {} and {}", a.to_string(), b.to_string());
  const bool ta = p.as<GemmParams>().trans_a, tb = p.as<GemmParams>().trans_b;
  const auto last = [](const Dims& d, int from_end) { return d[d.size() - static_cast<size_t>(from_end)]; };
  const int64_t m = last(a, ta ? 1 : 2), k = last(a, ta ? 2 : 1), n = last(b, tb ? 2 : 1);
  if (last(b, tb ? 1 : 2) != k || last(y, 2) != m || last(y, 1) != n)
    return invalid_argument("product of {} and {} gives {}", a.to_string(), b.to_string(), y.to_string());
  if (y.volume() == 0) return Status();
  // Batch axes broadcast: strides of a, b and c over y.
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> as, batch_strides(a, y));
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> bs, batch_strides(b, y));
  Writer w;
  w.raw(prelude());
  std::string parameters =
      fmt::format("{}* __restrict__ y, const {}* __restrict__ a, const {}* __restrict__ b, {}{}",
                  storage_type(p.outputs[0].dtype), storage_type(type), storage_type(type), epilogue_parameters(p),
                  bias ? fmt::format("const {}* __restrict__ bias, ", storage_type(p.inputs[2].dtype)) : "");
  parameters.resize(parameters.size() - 2);
  w.line("extern \"C\" __global__ void __launch_bounds__({}) wootz_kernel({}) {{", kBlock, parameters);
  std::vector<std::string> names;
  WOOTZ_RETURN_IF_ERROR(write_coordinates(p, args, &w, &names));
  std::string at_a = "0", at_b = "0";
  for (size_t i = 0; i + 2 < y.size(); ++i) {
    at_a += fmt::format(" + (s64)d{} * {}", i, as[i]);
    at_b += fmt::format(" + (s64)d{} * {}", i, bs[i]);
  }
  const size_t row = y.size() - 2, column = y.size() - 1;
  at_a += fmt::format(" + (s64)d{} * {}", row, ta ? 1 : k);
  at_b += fmt::format(" + (s64)d{} * {}", column, tb ? k : 1);
  const char* acc = type == DType::kF64 ? "double" : is_float(type) ? "float" : "u64";
  w.line("  typedef {} A; typedef {} R; A s = 0;", acc, register_type(type));
  w.line("  const {0}* ap = a + ({1}); const {0}* bp = b + ({2});", storage_type(type), at_a, at_b);
  w.line("#pragma unroll 4\n  for (int k = 0; k < {}; ++k) s += (A)w_get(ap[(s64)k * {}]) * (A)w_get(bp[(s64)k * {}]);",
         k, ta ? m : 1, tb ? 1 : n);
  const double alpha = p.as<GemmParams>().alpha;
  if (alpha != 1 && !is_float(type)) return unsupported("an integer product times {}", alpha);
  if (alpha != 1) w.line("  s *= (A){:.17g};", alpha);
  if (bias) {
    WOOTZ_RETURN_IF_ERROR(check_type(p.inputs[2].dtype));
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<int64_t> cs, strides_over(Layout::kLinear, args.inputs[2], y));
    std::string at_c = "0";
    for (size_t i = 0; i < cs.size(); ++i)
      if (cs[i] != 0) at_c += fmt::format(" + (s64)d{} * {}", i, cs[i]);
    w.line("  s += (A)w_get(bias[{}]);", at_c);
  }
  w.line("  const R f = (R)s;");
  WOOTZ_RETURN_IF_ERROR(write_epilogue(p, type, "f", names, "i", &w));
  w.line("}}");
  std::vector<Pointer> pointers{{true, 0}, {false, 0}, {false, 1}};
  add_epilogue_pointers(p, &pointers);
  if (bias) pointers.push_back({false, 2});
  add_launch(y, &w, std::move(pointers), launches);
  return Status();
}

}  // namespace wootz::cuda
