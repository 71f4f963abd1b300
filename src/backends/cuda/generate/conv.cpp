// Family conv, one thread a result: the general form, for what the libraries do not take (depthwise and odd groups,
// transposed, other types) and for small cases.
#include <algorithm>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/window.h"
#include "backends/cuda/support/int8_weights.h"

namespace wootz::cuda {
namespace {

constexpr int64_t kMostBytes = 1024;  // products of a sum that a thread adds up alone, of 8 bits; more go to float

Status check_operands(const Problem& p, const BindArgs& args) {
  const Dims &x = args.inputs[0], &f = args.inputs[1];
  const DType type = p.inputs[0].dtype;
  const bool scaled = has_scales(p), bias = p.as<ConvParams>().has_bias;
  if (scaled ? !is_int8(type) || p.inputs[1].dtype != DType::kI8 || !p.inputs[1].constant
             : !is_float(type) || p.inputs[1].dtype != type)
    return unsupported("convolution of {} by {}", dtype_name(type), dtype_name(p.inputs[1].dtype));
  if (p.num_main != (bias ? 3 : 2)) return invalid_argument("convolution of {} operands", p.num_main);
  const bool packed = scaled && p.inputs[1].layout == Layout::kOpaque;
  if ((p.inputs[1].layout != Layout::kLinear && !packed) || f.rank() != x.rank())
    return unsupported("weights {}", f.to_string());
  return Status();
}

Status check_channels(const Problem& p, const BindArgs& args) {
  const Dims& f = args.inputs[1];
  const bool bias = p.as<ConvParams>().has_bias, transposed = p.as<ConvParams>().transposed, scaled = has_scales(p);
  const int64_t groups = p.as<ConvParams>().groups, in_channels = args.inputs[0][1], out_channels = args.outputs[0][1];
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
      args.constant_bytes[1] < scales_end(f.volume(), out_channels))
    return invalid_argument("{} bytes of packed weights for {}", args.constant_bytes[1], f.to_string());
  return Status();
}

void add_types(const Problem& p, KernelSource* source) {
  const DType type = p.inputs[0].dtype;
  const bool scaled = has_scales(p), bias = p.as<ConvParams>().has_bias;
  const char* real = type == DType::kF64 ? "double" : "float";
  source->type("A", scaled ? "int" : real);
  source->type("R", real);
  source->type("X", storage_type(type));
  source->type("F", storage_type(p.inputs[1].dtype));
  source->fixed("kTransposed", p.as<ConvParams>().transposed);
  source->fixed("kScaled", scaled);
  const Floats& zeros = p.as<ConvParams>().x_zero;
  source->fixed("kZero", scaled && !zeros.empty() ? static_cast<int>(zeros[0]) : 0);
  source->operand(fmt::format("{}* __restrict__", storage_type(p.outputs[0].dtype)), "y", {true, 0});
  source->operand("const X*", "x", {false, 0});
  source->operand("const F*", "f", {false, 1});
  source->epilogue_operands(p);
  if (bias) source->operand(fmt::format("const {}*", storage_type(p.inputs[2].dtype)), "b", {false, 2});
  // A sum of floats starts with the bias; one of integers has a factor first.
  source->code(fmt::format("W_FN A start(const Operands& p, int channel) {{ return {}; }}\n",
                           bias && !scaled ? "(A)w_get(p.b[channel])" : "0"));
  source->code(fmt::format("W_FN R plus_bias(const Operands& p, R f, int channel) {{ return f{}; }}\n",
                           bias && scaled ? " + (float)w_get(p.b[channel])" : ""));
}

// Strides, the channels of a group first.
void add_strides(const Problem& p, const BindArgs& args, KernelSource* source) {
  const Dims &x = args.inputs[0], &f = args.inputs[1];
  const int64_t groups = p.as<ConvParams>().groups, per_in = x[1] / groups;
  const bool transposed = p.as<ConvParams>().transposed;
  const Dims xs = layout_strides(p.inputs[0].layout, x), fs = f.strides();
  source->number("per_in", per_in);
  source->number("per_out", args.outputs[0][1] / groups);
  source->number("x_image", xs[0]);
  source->number("x_group", per_in * xs[1]);
  source->number("x_channel", xs[1]);
  source->number("f_group", per_in * fs[0]);
  source->number("f_out", transposed ? fs[1] : fs[0]);
  source->number("f_in", transposed ? fs[0] : fs[1]);
  source->number("scales", static_cast<int64_t>(scales_begin(f.volume())));
  for (size_t k = 0; k < 3; ++k) {
    const bool there = k + 2 < x.size();
    source->number(fmt::format("x_stride{}", k), there ? xs[k + 2] : 0);
    source->number(fmt::format("f_stride{}", k), there ? fs[k + 2] : 0);
  }
}

}  // namespace

// Of bytes: behind the weights, a scale for each channel of the result.
Result<std::optional<PackedForm>> pack_direct(const Problem& p, int input, const HostTensor& source) {
  if (input != 1 || !has_scales(p)) return std::optional<PackedForm>{};
  const int64_t channels = p.outputs[0].dims[1];
  WOOTZ_ASSIGN_OR_RETURN(const GemmScales scales, int8_scales(p, channels));
  const auto pack = [source, channels, scales]() -> Result<std::vector<std::byte>> {
    const auto* from = static_cast<const std::byte*>(source.data());
    return with_scales({from, from + source.bytes()}, scales, channels);
  };
  return std::optional(packed_by(scales_end(source.volume(), channels), pack));
}

Status generate_conv(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_window(p, args, 2));
  WOOTZ_RETURN_IF_ERROR(check_operands(p, args));
  const ConvParams& params = p.as<ConvParams>();
  const Dims& f = args.inputs[1];
  const size_t n = f.size() - 2;
  const Window window{{f.begin() + 2, f.end()}, params.strides, params.dilations, params.pads};
  WOOTZ_RETURN_IF_ERROR(check_values(window.strides, n, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(window.dilations, n, 1));
  WOOTZ_RETURN_IF_ERROR(check_values(window.pads, 2 * n, 0));
  WOOTZ_RETURN_IF_ERROR(check_channels(p, args));
  if (args.outputs[0].volume() == 0) return Status();
  KernelSource source("conv/direct.cuh", transient(p, args));
  add_types(p, &source);
  add_strides(p, args, &source);
  WOOTZ_RETURN_IF_ERROR(add_window(p, args, window, &source));
  WOOTZ_RETURN_IF_ERROR(
      source.epilogue(p, has_scales(p) ? DType::kF32 : p.inputs[0].dtype, "const Place& at", place_offsets(p)));
  return source.finish(kBlock, blocks_for(args.outputs[0].volume(), kBlock), launches);
}

}  // namespace wootz::cuda
