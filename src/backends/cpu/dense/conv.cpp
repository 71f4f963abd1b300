// Family conv of f32, BF16 or 8 bits, channels last, constant weights, one group: a product whose rows are found tap by
// tap in the image, so that nothing is written out. Positions in the padding read a row of zeros. After M. Dukhan, "The
// Indirect Convolution Algorithm" (2019).
#include <algorithm>
#include <array>

#include "backends/cpu/conv_params.h"
#include "backends/cpu/dense/amx.h"
#include "backends/cpu/dense/bf16.h"
#include "backends/cpu/dense/blocks.h"
#include "backends/cpu/dense/copy_runs.h"
#include "backends/cpu/dense/int8.h"
#include "backends/cpu/dense/quads.h"
#include "backends/cpu/dense/vnni_pack.h"
#include "backends/cpu/function_kernel.h"

namespace wootz::cpu {
namespace {

// Three spatial axes; missing leading ones have extent 1.
template <class T>
class ImageRows final : public DenseRows<T> {
 public:
  ImageRows(const ConvForm& c, const Dims& x, const Dims& w, const Dims& y, T zero)
      : images_(x[0]), channels_(x[1]), zeros_(static_cast<size_t>(x[1]), zero) {
    const size_t skip = 3 - c.spatial;
    for (size_t i = 0; i < c.spatial; ++i) {
      in_[skip + i] = x[i + 2];
      out_[skip + i] = y[i + 2];
      filter_[skip + i] = w[i + 2];
      stride_[skip + i] = c.strides[i];
      dilation_[skip + i] = c.dilations[i];
      pad_[skip + i] = c.pads[i];
    }
    const std::array<int64_t, 3> ones{1, 1, 1};
    is_plain_ = filter_ == ones && stride_ == ones && in_ == out_ && pad_ == std::array<int64_t, 3>{};
  }

  void find(const T* input, int64_t first, int64_t count, const T** taps) const override {
    if (is_plain_) {
      for (int64_t i = 0; i < count; ++i) taps[i] = input + (first + i) * channels_;
      return;
    }
    each_place(input, first, count, [&](const T* from, const std::array<int64_t, 3>& out, int64_t i) {
      find_taps(from, out, count, taps + i);
    });
  }

  bool plain() const override { return is_plain_; }
  T padding() const override { return zeros_.empty() ? T{0} : zeros_[0]; }

  void copy(const T* input, int64_t first, int64_t count, const SumRuns& sum, T* to, int64_t stride) const override {
    each_place(input, first, count, [&](const T* from, const std::array<int64_t, 3>& out, int64_t i) {
      copy_taps(from, out, sum, to + i * stride);
    });
  }

  std::optional<ImageLines> lines() const override {
    if (stride_[0] != 1 || filter_[0] != 1 || pad_[0] != 0 || in_[0] != out_[0]) return std::nullopt;
    return ImageLines{images_ * in_[0], in_[1],       in_[2],     out_[1],    out_[2], filter_[1], filter_[2],
                      dilation_[1],     dilation_[2], stride_[1], stride_[2], pad_[1], pad_[2]};
  }

 private:
  void find_taps(const T* image, const std::array<int64_t, 3>& out, int64_t step, const T** to) const {
    const std::array<int64_t, 3> at{out[0] * stride_[0] - pad_[0], out[1] * stride_[1] - pad_[1],
                                    out[2] * stride_[2] - pad_[2]};
    for (int64_t a = 0; a < filter_[0]; ++a)
      for (int64_t b = 0; b < filter_[1]; ++b)
        for (int64_t c = 0; c < filter_[2]; ++c, to += step) {
          const int64_t z = at[0] + a * dilation_[0], y = at[1] + b * dilation_[1], x = at[2] + c * dilation_[2];
          const bool inside = z >= 0 && z < in_[0] && y >= 0 && y < in_[1] && x >= 0 && x < in_[2];
          *to = inside ? image + ((z * in_[1] + y) * in_[2] + x) * channels_ : zeros_.data();
        }
  }

  // f(image, position, i) for the results [first, first + count). Divided once; from row to row it is counted.
  template <class F>
  void each_place(const T* input, int64_t first, int64_t count, F f) const {
    const int64_t image = in_[0] * in_[1] * in_[2] * channels_, places = out_[0] * out_[1] * out_[2];
    const T* from = input + first / places * image;
    const int64_t place = first % places;
    std::array<int64_t, 3> out{place / (out_[1] * out_[2]), place / out_[2] % out_[1], place % out_[2]};
    for (int64_t i = 0; i < count; ++i) {
      f(from, out, i);
      if (++out[2] < out_[2]) continue;
      out[2] = 0;
      if (++out[1] < out_[1]) continue;
      out[1] = 0;
      if (++out[0] < out_[0]) continue;
      out[0] = 0;
      from += image;
    }
  }

  // The taps of one line of the filter are neighbours in the image, but for dilations and what is in the padding.
  void copy_taps(const T* image, const std::array<int64_t, 3>& out, const SumRuns& sum, T* to) const {
    const int64_t x0 = out[2] * stride_[2] - pad_[2], y0 = out[1] * stride_[1] - pad_[1],
                  z0 = out[0] * stride_[0] - pad_[0], line = filter_[2] * channels_, lines = filter_[0] * filter_[1];
    const auto bytes = [](int64_t n) { return n * static_cast<int64_t>(sizeof(T)); };
    // From a filter's line to the next one: whole lines of memory where each is a run, or several.
    const int64_t step = sum.run > line ? bytes(line) : whole_lines(bytes(line));
    const bool neighbours = dilation_[2] == 1 && x0 >= 0 && x0 + filter_[2] <= in_[2];
    char* at = reinterpret_cast<char*>(to);
    char* const end = at + whole_lines(step * lines);
    if (neighbours && filter_[0] == 1 && z0 == 0 && y0 >= 0 && y0 + (filter_[1] - 1) * dilation_[1] < in_[1]) {
      copy_runs({reinterpret_cast<const char*>(image + (y0 * in_[2] + x0) * channels_),
                 bytes(dilation_[1] * in_[2] * channels_), bytes(line), lines, at, step});
    } else {
      for (int64_t f = 0; f < lines; ++f)
        copy_line(image, z0 + f / filter_[1] * dilation_[0], y0 + f % filter_[1] * dilation_[1], x0, at + f * step,
                  step);
    }
    std::fill(at + lines * step, end, char{0});
  }
  // One line of the filter, tap by tap.
  void copy_line(const T* image, int64_t z, int64_t y, int64_t x0, char* to, int64_t step) const {
    const int64_t bytes = channels_ * static_cast<int64_t>(sizeof(T));
    for (int64_t c = 0; c < filter_[2]; ++c) {
      const int64_t x = x0 + c * dilation_[2];
      const bool inside = z >= 0 && z < in_[0] && y >= 0 && y < in_[1] && x >= 0 && x < in_[2];
      const T* from = inside ? image + ((z * in_[1] + y) * in_[2] + x) * channels_ : zeros_.data();
      copy_runs({reinterpret_cast<const char*>(from), 0, bytes, 1, to + c * bytes, bytes});
    }
    std::fill(to + filter_[2] * bytes, to + step, char{0});
  }

  bool is_plain_ = false;  // the result's positions are the image's, one tap each
  int64_t images_, channels_;
  std::vector<T> zeros_;
  std::array<int64_t, 3> in_{1, 1, 1}, out_{1, 1, 1}, filter_{1, 1, 1}, stride_{1, 1, 1}, dilation_{1, 1, 1},
      pad_{0, 0, 0};
};

DenseShape shape_of(const Problem& p, const Dims& y) {
  const Dims& w = p.inputs[1].dims;
  DenseShape s;
  s.columns = w[0];
  s.depth = w[1];
  for (size_t i = 2; i < w.size(); ++i) s.taps *= w[i];
  s.rows = s.columns == 0 ? 0 : y.volume() / s.columns;
  return s;
}

Status check_form(const Problem& p) {
  WOOTZ_ASSIGN_OR_RETURN(const ConvForm c, read_conv(p));
  if (c.transposed || c.groups != 1) return unsupported("groups, or a transposed convolution");
  if (p.inputs[0].layout != Layout::kChannelsLast || p.outputs[0].layout != Layout::kChannelsLast)
    return unsupported("conv in layout {}", layout_name(p.inputs[0].layout));
  WOOTZ_RETURN_IF_ERROR(check_conv_extents(p, c, p.inputs[0].dims, p.inputs[1].dims, p.outputs[0].dims));
  if (c.bias && (p.inputs[2].dims.rank() != 1 || p.inputs[2].dims[0] != c.out_channels(p) || p.inputs[2].dynamic()))
    return invalid_argument("conv: bias {} for {} channels", p.inputs[2].dims.to_string(), c.out_channels(p));
  constexpr int64_t kMostTaps = 4096;  // each has an address in every row of a unit
  if (shape_of(p, p.outputs[0].dims).taps > kMostTaps) return unsupported("a filter of over {} positions", kMostTaps);
  return {};
}
Status conv_applies(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense_operands(p));
  return check_form(p);
}
Status applies_to_bf16(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_bf16_operands(p));
  return check_form(p);
}
Status applies_to_int8(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense_form(p));
  WOOTZ_RETURN_IF_ERROR(check_form(p));
  return dense_int8_scales(p, shape_of(p, p.outputs[0].dims)).status();
}

Status applies_to_unshifted_int8(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_dense_form(p));
  WOOTZ_RETURN_IF_ERROR(check_form(p));
  return unshifted_int8_scales(p, shape_of(p, p.outputs[0].dims)).status();
}

SumRuns sum_of(const Problem& p, const ConvForm& c) {
  const DenseShape s = shape_of(p, p.outputs[0].dims);
  const int64_t size = p.inputs[1].dtype == DType::kBF16 ? 2 : 1;
  return amx_sum(s, size, p.inputs[1].dims.back(), c.dilations.back() == 1);
}

// In BF16 or 8 bits by vectors or by tiles; in 8 bits also as quads.h says.
template <Dots kDots>
class ConvKernel final : public Kernel {
 public:
  ConvKernel(const Problem& p, ConvForm c, Epilogue e, const KernelOptions& o)
      : problem_(p), params_(std::move(c)), epilogue_(std::move(e)), options_(o) {}

  Result<std::optional<PackedForm>> pack(int input, const HostTensor& source) const override {
    if (input != 1) return std::optional<PackedForm>{};
    if (source.dtype() != problem_.inputs[1].dtype || !(source.dims() == problem_.inputs[1].dims))
      return invalid_argument("conv: {} {} to pack", dtype_name(source.dtype()), source.dims().to_string());
    const DenseShape s = shape_of(problem_, problem_.outputs[0].dims);
    const auto index = [s](int64_t column, int64_t tap, int64_t e) { return (column * s.depth + e) * s.taps + tap; };
    if (type() == DType::kF32) return std::optional(pack_panels(s, dense_ops(options_.isa), source, index));
    if (kAmx && type() == DType::kBF16) return std::optional(pack_amx_panels<uint16_t>(s, sum(), 0, source, index));
    if (type() == DType::kBF16) return std::optional(pack_bf16_panels(s, source, index));
    WOOTZ_ASSIGN_OR_RETURN(const GemmScales scales, dense_int8_scales(problem_, s));
    if (kAmx) return std::optional(pack_amx_panels<int8_t>(s, sum(), scales.x_zero, source, index));
    if (kLines) return std::optional(pack_vnni_panels(s, sum(), line_zero(kDots, problem_, scales), source, index));
    if (kQuads)
      return std::optional(
          pack_quad_panels(s, quads_form(kDots, options_.isa), quads_offset(problem_, scales), source, index));
    return std::optional(pack_int8_panels(s, int8_ops(options_.isa), scales.w_zero, source, index));
  }

  int in_place(int) const override { return kLines ? amx_in_place(problem_) : -1; }

  Result<std::unique_ptr<Call>> bind(const BindArgs& args) const override {
    if (args.inputs.size() != problem_.inputs.size() || args.outputs.size() != 1)
      return invalid_argument("conv: {} inputs and {} outputs to bind", args.inputs.size(), args.outputs.size());
    const Dims &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
    WOOTZ_RETURN_IF_ERROR(check_conv_extents(problem_, params_, x, w, y));
    if (params_.bias && !(args.inputs[2] == problem_.inputs[2].dims))
      return invalid_argument("conv: a bias of shape {}", args.inputs[2].to_string());
    const DenseShape s = shape_of(problem_, y);
    if (type() == DType::kF32)
      return make_dense_call(problem_, options_, epilogue_, s,
                             std::make_unique<ImageRows<float>>(params_, x, w, y, 0.0f), args);
    if (kAmx && type() == DType::kBF16)
      return make_amx_call<uint16_t>(problem_, options_, epilogue_, s, sum(), nullptr,
                                     std::make_unique<ImageRows<uint16_t>>(params_, x, w, y, uint16_t{0}), args);
    if (type() == DType::kBF16)
      return make_bf16_call(problem_, options_, epilogue_, s,
                            std::make_unique<ImageRows<uint16_t>>(params_, x, w, y, uint16_t{0}), args);
    WOOTZ_ASSIGN_OR_RETURN(const GemmScales scales, dense_int8_scales(problem_, s));
    const auto zero = static_cast<uint8_t>(scales.x_zero);  // for i8 the same bits
    if (kLines)
      return make_amx_call<uint8_t>(problem_, options_, epilogue_, s, sum(), &scales,
                                    std::make_unique<ImageRows<uint8_t>>(params_, x, w, y, zero), args, kDots);
    if (kQuads)
      return make_quads_call(kDots, problem_, options_, epilogue_, s, scales,
                             std::make_unique<ImageRows<uint8_t>>(params_, x, w, y, zero), args);
    return make_int8_call(problem_, options_, epilogue_, s, scales,
                          std::make_unique<ImageRows<uint8_t>>(params_, x, w, y, zero), args);
  }

 private:
  static constexpr bool kAmx = kDots == Dots::kAmx, kLines = kAmx || kDots == Dots::kVnni;
  static constexpr bool kQuads = kDots == Dots::kQuads || kDots == Dots::kCrossed;
  DType type() const { return problem_.inputs[1].dtype; }
  SumRuns sum() const { return sum_of(problem_, params_); }

  Problem problem_;
  ConvForm params_;
  Epilogue epilogue_;
  KernelOptions options_;
};

template <Dots kDots>
Result<std::unique_ptr<Kernel>> create_conv(const Problem& p, const KernelOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(Epilogue e, Epilogue::make(p, DType::kF32, options.isa));
  WOOTZ_ASSIGN_OR_RETURN(ConvForm c, read_conv(p));
  return std::unique_ptr<Kernel>(std::make_unique<ConvKernel<kDots>>(p, std::move(c), std::move(e), options));
}

// A short tap hardly pays for its addresses.
double addresses(const DenseShape& s) { return 1 + 6.0 / static_cast<double>(std::max<int64_t>(s.depth, 1)); }
double conv_cost_us(const Problem& p, const KernelOptions& options) {
  const DenseShape s = shape_of(p, p.outputs[0].dims);
  return dense_cost_us(p, s, options) * addresses(s);
}
double conv_bf16_cost_us(const Problem& p, const KernelOptions& options) {
  const DenseShape s = shape_of(p, p.outputs[0].dims);
  return bf16_cost_us(p, s, options) * addresses(s);
}
double gemm_int8_cost_us(const Problem& p, const KernelOptions& options) {
  const DenseShape s = shape_of(p, p.outputs[0].dims);
  return int8_cost_us(p, s, options) * addresses(s);
}

template <Dots kDots>
double conv_quads_cost_us(const Problem& p, const KernelOptions& options) {
  const DenseShape s = shape_of(p, p.outputs[0].dims);
  return quads_cost_us(kDots, p, s, options) * addresses(s);
}

template <class T, Dots kDots>
double conv_lines_cost_us(const Problem& p, const KernelOptions& options) {
  const Dims &x = p.inputs[0].dims, &w = p.inputs[1].dims, &y = p.outputs[0].dims;
  const Result<ConvForm> form = read_conv(p);
  if (!form.ok()) return 0;
  const AmxRows<T> rows(shape_of(p, y), sum_of(p, *form), std::make_unique<ImageRows<T>>(*form, x, w, y, T{0}),
                        line_tiles(kDots));
  return amx_cost_us(rows.work(), options);
}

}  // namespace

const KernelEntry conv_f32_channels_last_tiled{
    Family::kConv, kSchemeChannelsLast, conv_applies, create_conv<Dots::kVectors>, true, conv_cost_us};
const KernelEntry conv_bf16_channels_last_tiled{
    Family::kConv, kSchemeChannelsLast, applies_to_bf16, create_conv<Dots::kVectors>, true, conv_bf16_cost_us};
const KernelEntry conv_i8_channels_last_pairs{
    Family::kConv, kSchemeChannelsLast, applies_to_int8, create_conv<Dots::kVectors>, true, gemm_int8_cost_us};
const KernelEntry conv_i8_channels_last_quads{Family::kConv,
                                              kSchemeChannelsLast,
                                              applies_to_unshifted_int8,
                                              create_conv<Dots::kQuads>,
                                              true,
                                              conv_quads_cost_us<Dots::kQuads>};
const KernelEntry conv_i8_channels_last_crossed{Family::kConv,
                                                kSchemeChannelsLast,
                                                applies_to_unshifted_int8,
                                                create_conv<Dots::kCrossed>,
                                                true,
                                                conv_quads_cost_us<Dots::kCrossed>};
const KernelEntry conv_i8_channels_last_vnni{Family::kConv,
                                             kSchemeChannelsLast,
                                             applies_to_unshifted_int8,
                                             create_conv<Dots::kVnni>,
                                             true,
                                             conv_lines_cost_us<uint8_t, Dots::kVnni>,
                                             Needs::kVnni};
const KernelEntry conv_i8_channels_last_amx{Family::kConv,
                                            kSchemeChannelsLast,
                                            applies_to_unshifted_int8,
                                            create_conv<Dots::kAmx>,
                                            true,
                                            conv_lines_cost_us<uint8_t, Dots::kAmx>,
                                            Needs::kAmxInt8};
const KernelEntry conv_bf16_channels_last_amx{Family::kConv,
                                              kSchemeChannelsLast,
                                              applies_to_bf16,
                                              create_conv<Dots::kAmx>,
                                              true,
                                              conv_lines_cost_us<uint16_t, Dots::kAmx>,
                                              Needs::kAmxBf16};

}  // namespace wootz::cpu
