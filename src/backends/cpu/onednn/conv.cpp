// The conv family as oneDNN's convolution and deconvolution.
#include "backends/cpu/onednn/dense.h"

namespace wootz::cpu::dnn {
namespace {

constexpr int64_t kMaxParam = int64_t{1} << 30;

struct ConvParams {
  size_t spatial = 0;
  std::vector<int64_t> strides, dilations, pads, output_pads;
  int64_t groups = 1;
  bool transposed = false, bias = false;
};

Result<ConvParams> read_params(const Problem& p) {
  ConvParams c;
  const int rank = p.inputs[0].dims.rank();
  if (rank < 3 || rank > 5) return unsupported("oneDNN: convolution of rank {}: 3 to 5", rank);
  c.spatial = static_cast<size_t>(rank - 2);
  if (p.inputs[1].dims.rank() != rank || p.outputs[0].dims.rank() != rank)
    return invalid_argument("conv: x {}, w {}, y {} differ in rank", p.inputs[0].dims.to_string(),
                            p.inputs[1].dims.to_string(), p.outputs[0].dims.to_string());
  c.strides = p.get_ints("strides");
  c.dilations = p.get_ints("dilations");
  c.pads = p.get_ints("pads");
  c.output_pads = p.get_ints("output_pads");
  if (c.strides.empty()) c.strides.assign(c.spatial, 1);
  if (c.dilations.empty()) c.dilations.assign(c.spatial, 1);
  if (c.pads.empty()) c.pads.assign(2 * c.spatial, 0);
  if (c.output_pads.empty()) c.output_pads.assign(c.spatial, 0);
  if (c.strides.size() != c.spatial || c.dilations.size() != c.spatial || c.pads.size() != 2 * c.spatial ||
      c.output_pads.size() != c.spatial)
    return invalid_argument("conv: {} strides, {} dilations, {} pads, {} output pads for {} spatial dimensions",
                            c.strides.size(), c.dilations.size(), c.pads.size(), c.output_pads.size(), c.spatial);
  const auto inside = [](const std::vector<int64_t>& values, int64_t low) {
    for (const int64_t v : values)
      if (v < low || v > kMaxParam) return false;
    return true;
  };
  if (!inside(c.strides, 1) || !inside(c.dilations, 1) || !inside(c.pads, 0) || !inside(c.output_pads, 0))
    return unsupported("oneDNN: strides, dilations or pads out of range (negative padding is the reference's)");
  c.groups = p.get_int("groups", 1);
  c.transposed = p.get_int("transposed") != 0;
  c.bias = p.get_int("has_bias") != 0;
  if (c.groups < 1 || c.groups > INT32_MAX) return invalid_argument("conv: {} groups", c.groups);
  return c;
}

int64_t out_channels(const Problem& p, const ConvParams& c) {
  return c.transposed ? p.inputs[1].dims[1] * c.groups : p.inputs[1].dims[0];
}

Result<DenseTraits> conv_traits(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense(p, 2));
  WOOTZ_ASSIGN_OR_RETURN(const ConvParams c, read_params(p));
  if (!(p.inputs[1].dims == p.inputs[1].max_dims)) return unsupported("oneDNN: convolution weights of dynamic extents");
  DenseTraits traits;
  WOOTZ_RETURN_IF_ERROR(read_quantization(p, "x", "w", out_channels(p, c), &traits));
  traits.weights_scale_mask = traits.weights_scale.size() <= 1 ? 0 : c.groups > 1 ? 3 : 1;
  if (c.bias) {
    const TensorDesc& b = p.inputs[2];
    if (b.dims.rank() != 1 || b.dims[0] != out_channels(p, c))
      return invalid_argument("conv: bias {} for {} channels", b.dims.to_string(), out_channels(p, c));
    if (b.dtype != DType::kF32 && (traits.quantized || b.dtype != p.inputs[0].dtype))
      return unsupported("oneDNN: bias {} of a {} convolution", dtype_name(b.dtype), dtype_name(p.inputs[0].dtype));
    if (b.layout == Layout::kOpaque) return invalid_argument("conv: a packed bias");
  }
  WOOTZ_RETURN_IF_ERROR(compose_epilogue(p, 1, -1, &traits));
  return traits;
}

Result<DenseSpec> conv_specify(const Problem& p, const Extents& e) {
  WOOTZ_ASSIGN_OR_RETURN(const ConvParams c, read_params(p));
  const Dims &x = e.inputs[0], &w = e.inputs[1], &y = e.output;
  const int rank = p.inputs[0].dims.rank();
  if (x.rank() != rank || w.rank() != rank || y.rank() != rank || !(w == p.inputs[1].dims))
    return invalid_argument("conv: bound to x {}, w {}, y {}; made for x {}, w {}", x.to_string(), w.to_string(),
                            y.to_string(), p.inputs[0].dims.to_string(), p.inputs[1].dims.to_string());
  const int64_t in = c.transposed ? w[0] : w[1] * c.groups, out = out_channels(p, c), g = c.groups;
  if (x[1] != in || y[1] != out || in <= 0 || out <= 0 || in % g != 0 || out % g != 0)
    return invalid_argument("conv: x {} and y {} do not fit w {} in {} groups", x.to_string(), y.to_string(),
                            w.to_string(), g);
  if (y[0] != x[0]) return invalid_argument("conv: batch {} in, {} out", x[0], y[0]);
  DenseSpec s;
  s.kind = c.transposed ? DenseSpec::Kind::kDeconv : DenseSpec::Kind::kConv;
  memory::dims filter;
  double taps = 1;
  for (size_t i = 0; i < c.spatial; ++i) {
    const int64_t k = w[i + 2], d = c.dilations[i], stride = c.strides[i];
    const int64_t begin = c.pads[i], end = c.pads[c.spatial + i], extent = x[i + 2];
    if (k <= 0) return invalid_argument("conv: filter {}", w.to_string());
    const __int128 span = static_cast<__int128>(k - 1) * d + 1;
    const __int128 size = c.transposed
                              ? static_cast<__int128>(extent - 1) * stride + span + c.output_pads[i] - begin - end
                              : (static_cast<__int128>(extent) + begin + end < span
                                     ? 0
                                     : (static_cast<__int128>(extent) + begin + end - span) / stride + 1);
    if (size != y[i + 2])
      return invalid_argument("conv: x {}, w {} give extent {} on axis {}, y is {}", x.to_string(), w.to_string(),
                              static_cast<int64_t>(size), i + 2, y.to_string());
    s.strides.push_back(stride);
    s.dilates.push_back(d - 1);
    s.pads_begin.push_back(begin);
    // oneDNN's own formula must hold exactly: what a stride leaves over counts as less padding.
    const __int128 far = c.transposed ? static_cast<__int128>(end) - c.output_pads[i]
                                      : static_cast<__int128>(size - 1) * stride + span - extent - begin;
    if (far > INT32_MAX || far < -static_cast<__int128>(INT32_MAX))
      return unsupported("oneDNN: padding of {} at the end of axis {}", static_cast<int64_t>(far), i + 2);
    s.pads_end.push_back(static_cast<int64_t>(far));
    filter.push_back(k);
    taps *= static_cast<double>(k);
  }
  s.empty = y.volume() == 0;
  if (!s.empty && x.volume() == 0) return unsupported("oneDNN: convolution of an empty {}", x.to_string());
  const auto type = [&](const TensorDesc& t) { return *data_type(t.dtype); };
  if (p.inputs[0].layout == Layout::kOpaque) return invalid_argument("conv: a packed x");
  s.src = layout_desc(p.inputs[0].layout, memory::dims(x.begin(), x.end()), type(p.inputs[0]));
  s.dst_dims = memory::dims(y.begin(), y.end());
  s.dst_layout = p.outputs[0].layout;
  s.merged.assign(static_cast<size_t>(rank), 1);
  // oneDNN counts weights as [groups,] out, in, filter.
  memory::dims wd{out / g, in / g}, ws;
  int64_t step = 1;
  for (const int64_t k : filter) step *= k;
  const int64_t area = step;
  if (c.transposed)
    ws = {area, (out / g) * area};  // lies as [groups, in, out, filter]
  else
    ws = {(in / g) * area, area};
  for (const int64_t k : filter) {
    step /= k;
    wd.push_back(k);
    ws.push_back(step);
  }
  if (g > 1) {
    wd.insert(wd.begin(), g);
    ws.insert(ws.begin(), (out / g) * (in / g) * area);
  }
  s.weights = memory::desc(wd, type(p.inputs[1]), ws);
  if (c.bias) {
    s.bias = memory::desc({out}, type(p.inputs[2]), memory::format_tag::a);
    s.bias_input = 2;
  }
  const double positions = c.transposed ? static_cast<double>(x.volume()) / static_cast<double>(in)
                                        : static_cast<double>(y.volume()) / static_cast<double>(out);
  s.flops = 2 * positions * taps * static_cast<double>(in / g) * static_cast<double>(out);
  return s;
}

std::vector<std::pair<Layout, Layout>> conv_layouts(const Problem& p) {
  std::vector<std::pair<Layout, Layout>> all{{Layout::kChannelsLast, Layout::kChannelsLast}};
  const bool plain_float = p.inputs[0].dtype == DType::kF32 || p.inputs[0].dtype == DType::kBF16;
  if (plain_float) {
    const Layout block = effective_isa() == Isa::kAvx512 ? Layout::kBlocked16 : Layout::kBlocked8;
    all.push_back({block, block});
    if (p.inputs[0].dims.rank() >= 3 && p.inputs[0].dims[1] <= 4) all.push_back({Layout::kLinear, block});
  }
  all.push_back({Layout::kLinear, Layout::kLinear});
  return all;
}

}  // namespace

const DenseFamily kConvFamily{Family::kConv, conv_traits, conv_specify, conv_layouts};

}  // namespace wootz::cpu::dnn
