// Family conv of u8 or i8 by i8, channels last, a filter for each channel: as depthwise.cpp, but what follows the sums
// is that of quads.h. Positions in the padding read a row of the zero point.
#include <cmath>

#include "backends/cpu/dense/depthwise_shape.h"
#include "backends/cpu/dense/depthwise_tile.h"
#include "backends/cpu/dense/int8.h"
#include "backends/cpu/dense/sums_finish.h"

namespace wootz::cpu {
namespace {

DenseShape sums_of(const Problem& p) {
  const Dims& w = p.inputs[1].dims;
  return {p.outputs[0].dims.volume() / std::max<int64_t>(1, w[0]), w[0], w[2] * w[3], 1};
}

class DepthwiseBytesCall final : public Call {
 public:
  ConvForm conv;
  DepthwiseShape shape;
  const DepthwiseByteOps* ops = nullptr;
  bool is_signed = false;
  SumsFinish finish;
  std::vector<float> scale;  // to the end of the last panel
  LargestResult most;        // what sums and operands in bytes come to, without the bias
  std::vector<uint8_t> outside;

  size_t workspace() const override { return scale.size() * sizeof(float) + 64; }

  Status run(const RunArgs& args) const override {
    DepthwiseByteStrip s;
    auto* const bias = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(args.workspace) + 63) / 64 * 64);
    set_end(args, bias, &s.end);
    s.weights = static_cast<const float*>(args.inputs[1]);
    s.start = s.weights + static_cast<int64_t>(scale.size()) * shape.rows * shape.taps;
    s.is_signed = is_signed;
    s.reach = shape.reach;
    s.rows = shape.rows;
    s.taps = shape.taps;
    s.stride = conv.strides[1];
    s.dilation = conv.dilations[1];
    s.channels = shape.channels;
    each_depthwise_row(shape, [&](int64_t image, int64_t out_row) { row(args, s, image, out_row); });
    return {};
  }

 private:
  void set_end(const RunArgs& args, float* bias, QuadsEnd* e) const {
    const auto* from = conv.bias ? static_cast<const float*>(args.inputs[2]) : nullptr;
    float largest = std::fabs(finish.shift);
    for (size_t c = 0; c < scale.size(); ++c) {
      const bool has = from != nullptr && static_cast<int64_t>(c) < shape.channels;
      bias[c] = finish.shift + (has ? finish.factor * from[c] : 0);
      largest = std::max(largest, std::fabs(bias[c]));
    }
    e->guarded = finish.may_be_nan || !(most.with(largest) < kFitsInteger);
    e->scale = scale.data();
    e->bias = bias;
    e->ends = finish.ends.data();
    e->num_ends = static_cast<int>(finish.ends.size());
    e->inputs = args.inputs;
    e->type = finish.type;
    e->zero = finish.zero;
    e->out_stride = shape.channels;
  }

  void row(const RunArgs& args, DepthwiseByteStrip s, int64_t image, int64_t out_row) const {
    const uint8_t* pixels[kMostDepthwisePixels];
    const auto* x =
        static_cast<const uint8_t*>(args.inputs[0]) + image * shape.in_rows * shape.in_columns * shape.channels;
    s.pixels = pixels;
    for (int64_t o = 0; o < shape.out_columns; o += kDepthwisePlaces) {
      s.places = std::min(kDepthwisePlaces, shape.out_columns - o);
      find_depthwise_pixels(shape, conv, x, outside.data(), out_row, o, pixels);
      s.end.first = ((image * shape.out_rows + out_row) * shape.out_columns + o) * shape.channels;
      s.end.out = static_cast<char*>(args.outputs[0]) + s.end.first * bytes_of(finish.type);
      ops->strip(s);
    }
  }
};

Status bytes_apply(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense_form(p));
  WOOTZ_ASSIGN_OR_RETURN(const ConvForm c, read_conv(p));
  WOOTZ_RETURN_IF_ERROR(check_depthwise(p, c));
  const DenseShape s = sums_of(p);
  if (s.taps > kMostByteTaps) return unsupported("a filter of over {} positions", kMostByteTaps);
  WOOTZ_RETURN_IF_ERROR(unshifted_int8_scales(p, s).status());
  const std::optional<SumsFinish> finish = read_sums_finish(p);
  if (!finish || finish->type == SumsEnd::Type::kBf16) return unsupported("an epilogue that its strips do not finish");
  return {};
}

class DepthwiseBytesKernel final : public Kernel {
 public:
  DepthwiseBytesKernel(const Problem& p, ConvForm c, const KernelOptions& o)
      : problem_(p), conv_(std::move(c)), ops_(depthwise_byte_ops(o.isa)) {}

  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    if (input != 1) return std::optional<PackedForm>{};
    if (source.dtype() != problem_.inputs[1].dtype || !(source.dims() == problem_.inputs[1].dims))
      return invalid_argument("conv: {} {} to pack", dtype_name(source.dtype()), source.dims().to_string());
    WOOTZ_ASSIGN_OR_RETURN(const GemmScales scales, unshifted_int8_scales(problem_, sums_of(problem_)));
    const int64_t channels = source.dims()[0], taps = source.volume() / std::max<int64_t>(1, channels);
    const auto make = [source, channels, taps, panel = ops_.panel, padded = padded_channels(),
                       zero = scales.x_zero](std::span<std::byte> bytes) {
      std::fill(bytes.begin(), bytes.end(), std::byte{0});  // what a last panel has too much
      const auto* from = static_cast<const int8_t*>(source.data());
      auto* const to = reinterpret_cast<float*>(bytes.data());
      float* const start = to + padded * taps;
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t t = 0; t < taps; ++t) {
          const int32_t w = from[c * taps + t];
          to[(c / panel * taps + t) * panel + c % panel] = static_cast<float>(w);
          start[c] -= static_cast<float>(zero * w);
        }
      return Status();
    };
    return std::optional(PackedForm{packed_bytes(), make});
  }

  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    WOOTZ_RETURN_IF_ERROR(check_depthwise(problem_, conv_, args, packed_bytes()));
    std::optional<SumsFinish> finish = read_sums_finish(problem_, args);
    if (!finish) return unsupported("conv: a residual that broadcasts");
    auto call = std::make_unique<DepthwiseBytesCall>();
    WOOTZ_ASSIGN_OR_RETURN(call->shape, depthwise_shape(conv_, args.inputs[0], args.inputs[1], args.outputs[0]));
    WOOTZ_ASSIGN_OR_RETURN(const GemmScales scales, unshifted_int8_scales(problem_, sums_of(problem_)));
    call->conv = conv_;
    call->ops = &ops_;
    call->is_signed = problem_.inputs[0].dtype == DType::kI8;
    call->finish = std::move(*finish);
    call->scale.assign(static_cast<size_t>(padded_channels()), 0);
    for (int64_t c = 0; c < call->shape.channels; ++c)
      call->scale[static_cast<size_t>(c)] = call->finish.factor * static_cast<float>(scales.of(c));
    call->most = largest_result(call->finish, call->shape.rows * call->shape.taps, call->scale);
    call->outside.assign(static_cast<size_t>(call->shape.channels), static_cast<uint8_t>(scales.x_zero));
    return std::unique_ptr<Call>(std::move(call));
  }

 private:
  int64_t padded_channels() const { return ceil_div(problem_.inputs[1].dims[0], ops_.panel) * ops_.panel; }
  size_t packed_bytes() const {
    const Dims& w = problem_.inputs[1].dims;
    return static_cast<size_t>(padded_channels() * (w[2] * w[3] + 1)) * sizeof(float);
  }

  Problem problem_;
  ConvForm conv_;
  const DepthwiseByteOps& ops_;
};

Result<std::unique_ptr<Kernel>> create_bytes(const Problem& p, const KernelOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(ConvForm c, read_conv(p));
  return std::unique_ptr<Kernel>(std::make_unique<DepthwiseBytesKernel>(p, std::move(c), options));
}

}  // namespace

const KernelEntry conv_i8_channels_last_depthwise{Family::kConv, kSchemeChannelsLast, bytes_apply, create_bytes, true};

}  // namespace wootz::cpu
