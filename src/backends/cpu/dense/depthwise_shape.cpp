#include "backends/cpu/dense/depthwise_shape.h"

namespace wootz::cpu {

Result<DepthwiseShape> depthwise_shape(const ConvForm& c, const Dims& x, const Dims& w, const Dims& y) {
  if (x.rank() != 4) return unsupported("a depthwise convolution of rank {}", x.rank());
  DepthwiseShape s{x[0], x[1], x[2], x[3], y[2], y[3], w[2], w[3]};
  s.reach = (kDepthwisePlaces - 1) * c.strides[1] + (s.taps - 1) * c.dilations[1] + 1;
  if (s.reach > kMostDepthwisePixels || s.rows * s.reach > kMostDepthwisePixels)
    return unsupported("a filter of that extent");
  return s;
}

Status check_depthwise(const Problem& p, const ConvForm& c) {
  const Dims &x = p.inputs[0].dims, &w = p.inputs[1].dims;
  if (x.rank() != 4 || c.transposed || c.groups != x[1] || w[0] != x[1] || w[1] != 1 || p.inputs[0].max_dims[1] != x[1])
    return unsupported("other groups than one for each channel");
  if (p.inputs[0].layout != Layout::kChannelsLast || p.outputs[0].layout != Layout::kChannelsLast)
    return unsupported("conv in layout {}", layout_name(p.inputs[0].layout));
  WOOTZ_RETURN_IF_ERROR(check_conv_extents(p, c, x, w, p.outputs[0].dims));
  if (c.bias && (p.inputs[2].dims.rank() != 1 || p.inputs[2].dims[0] != x[1] || p.inputs[2].dynamic()))
    return invalid_argument("conv: bias {} for {} channels", p.inputs[2].dims.to_string(), x[1]);
  return depthwise_shape(c, x, w, p.outputs[0].dims).status();
}

Status check_depthwise(const Problem& p, const ConvForm& c, const BindArgs& args, size_t packed_bytes) {
  if (args.inputs.size() != p.inputs.size() || args.outputs.size() != 1)
    return invalid_argument("conv: {} inputs and {} outputs to bind", args.inputs.size(), args.outputs.size());
  const Dims& x = args.inputs[0];
  WOOTZ_RETURN_IF_ERROR(check_conv_extents(p, c, x, args.inputs[1], args.outputs[0]));
  if (x[1] != p.inputs[1].dims[0] || (c.bias && !(args.inputs[2] == p.inputs[2].dims)))
    return invalid_argument("conv: other channels than the filters are for");
  if (args.constant_bytes.size() > 1 && args.constant_bytes[1] != packed_bytes)
    return invalid_argument("conv: {} bytes of packed weights, {} are needed", args.constant_bytes[1], packed_bytes);
  return {};
}

}  // namespace wootz::cpu
