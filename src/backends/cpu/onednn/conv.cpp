// The conv family as oneDNN's convolution and deconvolution.
#include "backends/cpu/conv_params.h"
#include "backends/cpu/onednn/dense.h"
#include "base/cpu_info.h"

namespace wootz::cpu::dnn {
namespace {

constexpr int64_t kBlock = 16;  // of outputs, in AMX kernels of oneDNN

// With many threads, AMX kernels of oneDNN 3.2 for 8 bits take corrections (of zero points, of signed x) from a wrong
// place where a group has several blocks of outputs and the last one is not full.
bool misplaces_corrections(const ConvForm& c, int64_t outputs) {
  const int64_t of_group = outputs / c.groups;
  return c.groups > 1 && of_group > kBlock && of_group % kBlock != 0;
}

// AMX kernels of the same version for BF16 write beyond the result where the last block of outputs is not full (seen
// with four threads: 40 to 24 channels at single pixels). Convolutions by channel are other kernels.
bool writes_beyond(const Problem& p, const ConvForm& c) {
  const int64_t of_group = c.out_channels(p) / c.groups;
  const bool by_channel = of_group == 1 && p.inputs[0].dims[1] == c.groups;
  return p.inputs[0].dtype == DType::kBF16 && of_group % kBlock != 0 && !by_channel;
}

Result<DenseTraits> conv_traits(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense(p, 2));
  WOOTZ_ASSIGN_OR_RETURN(const ConvForm c, read_conv(p));
  if (!(p.inputs[1].dims == p.inputs[1].max_dims)) return unsupported("oneDNN: convolution weights of dynamic extents");
  DenseTraits traits;
  WOOTZ_RETURN_IF_ERROR(read_quantization(p, c.out_channels(p), &traits));
  if (traits.quantized && misplaces_corrections(c, c.out_channels(p)))
    return unsupported("oneDNN: 8-bit convolution in {} groups with {} outputs in all", c.groups, c.out_channels(p));
  traits.no_tiles = writes_beyond(p, c);
  traits.weights_scale_mask = traits.weights_scale.size() <= 1 ? 0 : c.groups > 1 ? 3 : 1;
  if (c.bias) {
    const TensorDesc& b = p.inputs[2];
    if (b.dims.rank() != 1 || b.dims[0] != c.out_channels(p))
      return invalid_argument("conv: bias {} for {} channels", b.dims.to_string(), c.out_channels(p));
    if (b.dtype != DType::kF32 && (traits.quantized || b.dtype != p.inputs[0].dtype))
      return unsupported("oneDNN: bias {} of a {} convolution", dtype_name(b.dtype), dtype_name(p.inputs[0].dtype));
    if (b.layout == Layout::kOpaque) return invalid_argument("conv: a packed bias");
  }
  WOOTZ_RETURN_IF_ERROR(compose_epilogue(p, 1, -1, &traits));
  return traits;
}

// Strides, dilations and padding, in oneDNN's terms.
Status specify_windows(const ConvForm& c, const Extents& e, DenseSpec* s) {
  const Dims &x = e.inputs[0], &w = e.inputs[1], &y = e.output;
  for (size_t i = 0; i < c.spatial; ++i) {
    const int64_t k = w[i + 2], d = c.dilations[i], stride = c.strides[i];
    const int64_t begin = c.pads[i], end = c.pads[c.spatial + i], extent = x[i + 2];
    const __int128 span = static_cast<__int128>(k - 1) * d + 1;
    const __int128 size = y[i + 2];
    s->strides.push_back(stride);
    s->dilates.push_back(d - 1);
    s->pads_begin.push_back(begin);
    // oneDNN's own formula must hold exactly: what a stride leaves over counts as less padding.
    const __int128 far = c.transposed ? static_cast<__int128>(end) - c.output_pads[i]
                                      : static_cast<__int128>(size - 1) * stride + span - extent - begin;
    if (far > INT32_MAX || far < -static_cast<__int128>(INT32_MAX))
      return unsupported("oneDNN: padding of {} at the end of axis {}", static_cast<int64_t>(far), i + 2);
    s->pads_end.push_back(static_cast<int64_t>(far));
  }
  return Status();
}

// oneDNN counts weights as [groups,] out, in, filter.
memory::desc weights_desc(const ConvForm& c, const Dims& w, int64_t in, int64_t out, memory::data_type type) {
  const int64_t g = c.groups;
  memory::dims wd{out / g, in / g}, ws;
  int64_t area = 1;
  for (size_t i = 0; i < c.spatial; ++i) area *= w[i + 2];
  if (c.transposed)
    ws = {area, (out / g) * area};  // lies as [groups, in, out, filter]
  else
    ws = {(in / g) * area, area};
  int64_t step = area;
  for (size_t i = 0; i < c.spatial; ++i) {
    step /= w[i + 2];
    wd.push_back(w[i + 2]);
    ws.push_back(step);
  }
  if (g > 1) {
    wd.insert(wd.begin(), g);
    ws.insert(ws.begin(), (out / g) * (in / g) * area);
  }
  return memory::desc(wd, type, ws);
}

Result<DenseSpec> conv_specify(const Problem& p, const Extents& e) {
  WOOTZ_ASSIGN_OR_RETURN(const ConvForm c, read_conv(p));
  const Dims &x = e.inputs[0], &w = e.inputs[1], &y = e.output;
  WOOTZ_RETURN_IF_ERROR(check_conv_extents(p, c, x, w, y));
  const int rank = p.inputs[0].dims.rank();
  const int64_t in = c.transposed ? w[0] : w[1] * c.groups, out = c.out_channels(p), g = c.groups;
  DenseSpec s;
  s.kind = c.transposed ? DenseSpec::Kind::kDeconv : DenseSpec::Kind::kConv;
  WOOTZ_RETURN_IF_ERROR(specify_windows(c, e, &s));
  double taps = 1;
  for (size_t i = 0; i < c.spatial; ++i) taps *= static_cast<double>(w[i + 2]);
  s.empty = y.volume() == 0;
  if (!s.empty && x.volume() == 0) return unsupported("oneDNN: convolution of an empty {}", x.to_string());
  const auto type = [&](const TensorDesc& t) { return *data_type(t.dtype); };
  if (p.inputs[0].layout == Layout::kOpaque) return invalid_argument("conv: a packed x");
  s.src = layout_desc(p.inputs[0].layout, memory::dims(x.begin(), x.end()), type(p.inputs[0]));
  s.dst_dims = memory::dims(y.begin(), y.end());
  s.dst_layout = p.outputs[0].layout;
  s.merged.assign(static_cast<size_t>(rank), 1);
  s.weights = weights_desc(c, w, in, out, type(p.inputs[1]));
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
