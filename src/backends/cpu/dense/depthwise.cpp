// Family conv of BF16, channels last, a filter for each channel: strips of results along a row. Sums are of f32;
// positions in the padding read a row of zeros.
#include <algorithm>

#include "backends/cpu/dense/bf16_tile.h"
#include "backends/cpu/dense/blocks.h"
#include "backends/cpu/dense/depthwise_shape.h"
#include "backends/cpu/dense/depthwise_tile.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

class DepthwiseCall final : public Call {
 public:
  ConvForm conv;
  DepthwiseShape shape;
  DenseEnd end;
  const DepthwiseOps* ops = nullptr;
  void (*widen)(const uint16_t* from, int64_t n, float* to) = nullptr;
  bool out_is_bf16 = false, added_is_bf16 = false;
  DType bias = DType::kInvalid;
  std::vector<uint16_t> zeros;

  size_t workspace() const override {
    return bias == DType::kBF16 ? static_cast<size_t>(shape.channels) * sizeof(float) + 64 : 0;
  }

  Status run(const RunArgs& args) const override {
    const float* first = bias_of(args);
    each_depthwise_row(shape, [&](int64_t image, int64_t out_row) { row(args, first, image, out_row); });
    return {};
  }

 private:
  // As f32: where it lies, or widened into the workspace.
  const float* bias_of(const RunArgs& args) const {
    if (bias != DType::kBF16) return bias == DType::kInvalid ? nullptr : static_cast<const float*>(args.inputs[2]);
    auto* to = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(args.workspace) + 63) / 64 * 64);
    widen(static_cast<const uint16_t*>(args.inputs[2]), shape.channels, to);
    return to;
  }

  void row(const RunArgs& args, const float* first, int64_t image, int64_t out_row) const {
    const uint16_t* pixels[kMostDepthwisePixels];
    const auto* x =
        static_cast<const uint16_t*>(args.inputs[0]) + image * shape.in_rows * shape.in_columns * shape.channels;
    DepthwiseStrip s;
    s.pixels = pixels;
    s.reach = shape.reach;
    s.rows = shape.rows;
    s.taps = shape.taps;
    s.stride = conv.strides[1];
    s.dilation = conv.dilations[1];
    s.weights = static_cast<const float*>(args.inputs[1]);
    s.bias = first;
    end.set(&s);
    s.channels = s.columns = s.out_stride = shape.channels;
    s.out_is_bf16 = out_is_bf16;
    s.added_is_bf16 = added_is_bf16;
    for (int64_t o = 0; o < shape.out_columns; o += kDepthwisePlaces) {
      s.places = std::min(kDepthwisePlaces, shape.out_columns - o);
      find_depthwise_pixels(shape, conv, x, zeros.data(), out_row, o, pixels);
      const int64_t at = ((image * shape.out_rows + out_row) * shape.out_columns + o) * shape.channels;
      s.out = static_cast<char*>(args.outputs[0]) + at * (out_is_bf16 ? 2 : 4);
      if (end.added >= 0) s.added = static_cast<const char*>(args.inputs[end.added]) + at * (added_is_bf16 ? 2 : 4);
      ops->strip(s);
    }
  }
};

Status depthwise_applies(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense_form(p, DType::kBF16));
  for (size_t i = 0; i < 2; ++i)
    if (p.inputs[i].dtype != DType::kBF16) return unsupported("conv of {}", dtype_name(p.inputs[i].dtype));
  WOOTZ_ASSIGN_OR_RETURN(const ConvForm c, read_conv(p));
  WOOTZ_RETURN_IF_ERROR(check_depthwise(p, c));
  return read_end(p).direct ? Status() : unsupported("an epilogue that its strips do not finish");
}

class DepthwiseKernel final : public Kernel {
 public:
  DepthwiseKernel(const Problem& p, ConvForm c, const KernelOptions& o)
      : problem_(p), conv_(std::move(c)), options_(o) {}

  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    if (input != 1) return std::optional<PackedForm>{};
    if (source.dtype() != problem_.inputs[1].dtype || !(source.dims() == problem_.inputs[1].dims))
      return invalid_argument("conv: {} {} to pack", dtype_name(source.dtype()), source.dims().to_string());
    const int64_t channels = source.dims()[0], taps = source.volume() / std::max<int64_t>(1, channels);
    const auto make = [source, channels, taps](std::span<std::byte> bytes) {
      std::fill(bytes.begin(), bytes.end(), std::byte{0});  // what a last group has too much
      const auto* from = static_cast<const uint16_t*>(source.data());
      auto* const to = reinterpret_cast<float*>(bytes.data());
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t t = 0; t < taps; ++t)
          to[(c / kDepthwiseLanes * taps + t) * kDepthwiseLanes + c % kDepthwiseLanes] =
              bf16_to_f32(from[c * taps + t]);
      return Status();
    };
    return std::optional(PackedForm{packed_bytes(), make});
  }

  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    WOOTZ_RETURN_IF_ERROR(check_depthwise(problem_, conv_, args, packed_bytes()));
    const Dims &x = args.inputs[0], &y = args.outputs[0];
    auto call = std::make_unique<DepthwiseCall>();
    WOOTZ_ASSIGN_OR_RETURN(call->shape, depthwise_shape(conv_, x, args.inputs[1], y));
    call->conv = conv_;
    call->end = read_end(problem_);
    const auto added = static_cast<size_t>(std::max(call->end.added, 0));
    if (call->end.added >= 0 && !(args.inputs[added] == y)) return unsupported("conv: a residual that broadcasts");
    call->ops = &depthwise_ops(options_.isa);
    call->widen = bf16_ops(options_.isa).widen;
    call->out_is_bf16 = problem_.outputs[0].dtype == DType::kBF16;
    call->added_is_bf16 = problem_.inputs[added].dtype == DType::kBF16;
    if (conv_.bias) call->bias = problem_.inputs[2].dtype;
    call->zeros.assign(static_cast<size_t>(x[1]), 0);
    return std::unique_ptr<Call>(std::move(call));
  }

 private:
  size_t packed_bytes() const {
    const Dims& w = problem_.inputs[1].dims;
    return static_cast<size_t>(ceil_div(w[0], kDepthwiseLanes) * kDepthwiseLanes * w[2] * w[3]) * sizeof(float);
  }

  Problem problem_;
  ConvForm conv_;
  KernelOptions options_;
};

Result<std::unique_ptr<Kernel>> create_depthwise(const Problem& p, const KernelOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(ConvForm c, read_conv(p));
  return std::unique_ptr<Kernel>(std::make_unique<DepthwiseKernel>(p, std::move(c), options));
}

}  // namespace

const KernelEntry conv_bf16_channels_last_depthwise{Family::kConv, kSchemeChannelsLast, depthwise_applies,
                                                    create_depthwise, true};

}  // namespace wootz::cpu
