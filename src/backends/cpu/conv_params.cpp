#include "backends/cpu/conv_params.h"

namespace wootz::cpu {

constexpr int64_t kMaxParam = int64_t{1} << 30;

Result<ConvForm> read_conv(const Problem& p) {
  ConvForm c;
  const int rank = p.inputs[0].dims.rank();
  if (rank < 3 || rank > 5) return unsupported("convolution of rank {}: 3 to 5", rank);
  c.spatial = static_cast<size_t>(rank - 2);
  if (p.inputs[1].dims.rank() != rank || p.outputs[0].dims.rank() != rank)
    return invalid_argument("conv: x {}, w {}, y {} differ in rank", p.inputs[0].dims.to_string(),
                            p.inputs[1].dims.to_string(), p.outputs[0].dims.to_string());
  c.strides = p.as<ConvParams>().strides;
  c.dilations = p.as<ConvParams>().dilations;
  c.pads = p.as<ConvParams>().pads;
  c.output_pads = p.as<ConvParams>().output_pads;
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
    return unsupported("convolution: strides, dilations or pads out of range (negative padding is the reference's)");
  c.groups = p.as<ConvParams>().groups;
  c.transposed = p.as<ConvParams>().transposed;
  c.bias = p.as<ConvParams>().has_bias;
  if (c.groups < 1 || c.groups > INT32_MAX) return invalid_argument("conv: {} groups", c.groups);
  return c;
}

Status check_conv_extents(const Problem& p, const ConvForm& c, const Dims& x, const Dims& w, const Dims& y) {
  const int rank = p.inputs[0].dims.rank();
  if (x.rank() != rank || w.rank() != rank || y.rank() != rank || !(w == p.inputs[1].dims))
    return invalid_argument("conv: bound to x {}, w {}, y {}; made for x {}, w {}", x.to_string(), w.to_string(),
                            y.to_string(), p.inputs[0].dims.to_string(), p.inputs[1].dims.to_string());
  const int64_t in = c.transposed ? w[0] : w[1] * c.groups, out = c.out_channels(p), g = c.groups;
  if (x[1] != in || y[1] != out || in <= 0 || out <= 0 || in % g != 0 || out % g != 0)
    return invalid_argument("conv: x {} and y {} do not fit w {} in {} groups", x.to_string(), y.to_string(),
                            w.to_string(), g);
  if (y[0] != x[0]) return invalid_argument("conv: batch {} in, {} out", x[0], y[0]);
  for (size_t i = 0; i < c.spatial; ++i) {
    const int64_t k = w[i + 2], begin = c.pads[i], end = c.pads[c.spatial + i], extent = x[i + 2];
    if (k <= 0) return invalid_argument("conv: filter {}", w.to_string());
    const __int128 span = static_cast<__int128>(k - 1) * c.dilations[i] + 1;
    const __int128 padded = static_cast<__int128>(extent) + begin + end;
    const __int128 size = c.transposed
                              ? static_cast<__int128>(extent - 1) * c.strides[i] + span + c.output_pads[i] - begin - end
                              : (padded < span ? 0 : (padded - span) / c.strides[i] + 1);
    if (size != y[i + 2])
      return invalid_argument("conv: x {}, w {} give extent {} on axis {}, y is {}", x.to_string(), w.to_string(),
                              static_cast<int64_t>(size), i + 2, y.to_string());
  }
  return {};
}

}  // namespace wootz::cpu
