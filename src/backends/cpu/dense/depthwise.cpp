// Family conv of BF16, channels last, a filter for each channel: strips of results along a row. Sums are of f32;
// positions in the padding read a row of zeros.
#include <algorithm>

#include "backends/cpu/conv_params.h"
#include "backends/cpu/dense/bf16_tile.h"
#include "backends/cpu/dense/blocks.h"
#include "backends/cpu/dense/depthwise_tile.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kMostPixels = 1024;  // that a strip reads: their addresses are on the stack

struct Shape {
  int64_t batch, channels, in_rows, in_columns, out_rows, out_columns, rows, taps, reach;
};
Result<Shape> shape_of(const ConvForm& c, const Dims& x, const Dims& w, const Dims& y) {
  if (x.rank() != 4) return unsupported("a depthwise convolution of rank {}", x.rank());
  Shape s{x[0], x[1], x[2], x[3], y[2], y[3], w[2], w[3], 0};
  s.reach = (kDepthwisePlaces - 1) * c.strides[1] + (s.taps - 1) * c.dilations[1] + 1;
  if (s.reach > kMostPixels || s.rows * s.reach > kMostPixels) return unsupported("a filter of that extent");
  return s;
}

class DepthwiseCall final : public Call {
 public:
  ConvForm conv;
  Shape shape{};
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
    const int64_t cost = std::max<int64_t>(1, shape.out_columns * shape.channels * shape.rows * shape.taps);
    parallel_for(shape.batch * shape.out_rows, std::max<int64_t>(1, 100000 / cost), [&](int64_t begin, int64_t last) {
      for (int64_t r = begin; r < last; ++r) row(args, first, r / shape.out_rows, r % shape.out_rows);
    });
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

  const uint16_t* pixel(const uint16_t* image, int64_t y, int64_t x) const {
    if (y < 0 || y >= shape.in_rows || x < 0 || x >= shape.in_columns) return zeros.data();
    return image + (y * shape.in_columns + x) * shape.channels;
  }

  void row(const RunArgs& args, const float* first, int64_t image, int64_t out_row) const {
    const uint16_t* pixels[kMostPixels];
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
    s.columns = s.out_stride = shape.channels;
    s.out_is_bf16 = out_is_bf16;
    s.added_is_bf16 = added_is_bf16;
    for (int64_t o = 0; o < shape.out_columns; o += kDepthwisePlaces) {
      s.places = std::min(kDepthwisePlaces, shape.out_columns - o);
      for (int64_t k = 0; k < shape.rows; ++k)
        for (int64_t j = 0; j < shape.reach; ++j)
          pixels[k * shape.reach + j] = pixel(x, out_row * conv.strides[0] - conv.pads[0] + k * conv.dilations[0],
                                              o * conv.strides[1] - conv.pads[1] + j);
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
  const Dims &x = p.inputs[0].dims, &w = p.inputs[1].dims;
  if (x.rank() != 4 || c.transposed || c.groups != x[1] || w[0] != x[1] || w[1] != 1 || p.inputs[0].max_dims[1] != x[1])
    return unsupported("other groups than one for each channel");
  if (p.inputs[0].layout != Layout::kChannelsLast || p.outputs[0].layout != Layout::kChannelsLast)
    return unsupported("conv in layout {}", layout_name(p.inputs[0].layout));
  WOOTZ_RETURN_IF_ERROR(check_conv_extents(p, c, x, w, p.outputs[0].dims));
  if (c.bias && (p.inputs[2].dims.rank() != 1 || p.inputs[2].dims[0] != x[1] || p.inputs[2].dynamic()))
    return invalid_argument("conv: bias {} for {} channels", p.inputs[2].dims.to_string(), x[1]);
  if (!read_end(p).direct) return unsupported("an epilogue that its strips do not finish");
  return shape_of(c, x, w, p.outputs[0].dims).status();
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
    if (args.inputs.size() != problem_.inputs.size() || args.outputs.size() != 1)
      return invalid_argument("conv: {} inputs and {} outputs to bind", args.inputs.size(), args.outputs.size());
    const Dims &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
    WOOTZ_RETURN_IF_ERROR(check_conv_extents(problem_, conv_, x, w, y));
    if (x[1] != problem_.inputs[1].dims[0] || (conv_.bias && !(args.inputs[2] == problem_.inputs[2].dims)))
      return invalid_argument("conv: other channels than the filters are for");
    if (args.constant_bytes.size() > 1 && args.constant_bytes[1] != packed_bytes())
      return invalid_argument("conv: {} bytes of packed weights, {} are needed", args.constant_bytes[1],
                              packed_bytes());
    auto call = std::make_unique<DepthwiseCall>();
    WOOTZ_ASSIGN_OR_RETURN(call->shape, shape_of(conv_, x, w, y));
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
