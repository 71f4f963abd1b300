// DFT, STFT and MelWeightMatrix.
#include <cmath>
#include <complex>
#include <numbers>

#include "ops/module_table.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

using Complex = std::complex<double>;
constexpr int64_t kLongest = int64_t{1} << 24;

// e^(sign * 2 pi i k / n) for all k, from exact multiples.
std::vector<Complex> roots(size_t n, double sign) {
  std::vector<Complex> w(n);
  for (size_t k = 0; k < n; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    w[k] = {std::cos(angle), sign * std::sin(angle)};
  }
  return w;
}

// In place, unscaled: even lengths are halved, odd ones summed directly. w are the roots of `full` = n * step.
void transform(std::vector<Complex>& x, const std::vector<Complex>& w, size_t step) {
  const size_t n = x.size();
  if (n <= 1) return;
  std::vector<Complex> result(n);
  if (n % 2 == 0) {
    std::vector<Complex> even(n / 2), odd(n / 2);
    for (size_t i = 0; i < n / 2; ++i) {
      even[i] = x[2 * i];
      odd[i] = x[2 * i + 1];
    }
    transform(even, w, step * 2);
    transform(odd, w, step * 2);
    for (size_t k = 0; k < n; ++k) result[k] = even[k % (n / 2)] + w[k * step] * odd[k % (n / 2)];
  } else {
    for (size_t k = 0; k < n; ++k)
      for (size_t i = 0; i < n; ++i) result[k] += w[k * i % n * step] * x[i];
  }
  x = std::move(result);
}

// Refuses lengths whose odd part makes the direct sums too long.
Status check_cost(int64_t length, int64_t lines) {
  constexpr double kMost = 1e11;
  int64_t odd = length;
  while (odd % 2 == 0) odd /= 2;
  const double cost = static_cast<double>(lines) * static_cast<double>(length) * static_cast<double>(odd);
  if (cost > kMost) return unsupported("{} transforms of length {}, whose odd part is {}", lines, length, odd);
  return {};
}

struct DftForm {
  bool inverse = false, onesided = false;
  bool real_result() const { return inverse && onesided; }
};
DftForm read_form(const Node& node) { return {node.attr_int("inverse") != 0, node.attr_int("onesided") != 0}; }

// Inputs x [..., 1 or 2], [length]. Attribute axis. Output [..., 2], or [..., 1] for the inverse of one side.
Status infer_dft(InferContext& ctx) {
  const Shape& x = ctx.shape(0);
  const DftForm form = read_form(ctx.node());
  if (x.size() < 2 || !is_float(ctx.dtype(0)) || !x.back().is_const() ||
      (x.back().value() != 1 && x.back().value() != 2))
    return ctx.fail("input {} {}; the last extent must be 1 or 2", dtype_name(ctx.dtype(0)), shape_to_string(x));
  Result<int> axis = normalize_axis(ctx.node().attr_int("axis", -2), ctx.rank(0));
  if (!axis.ok() || *axis == ctx.rank(0) - 1)
    return ctx.fail("axis {} of input {}", ctx.node().attr_int("axis", -2), shape_to_string(x));
  if (form.onesided && !form.inverse && x.back().value() == 2) return ctx.fail("one side of a complex input");
  const auto at = static_cast<size_t>(*axis);
  Dim length = form.real_result() ? (x[at] - Dim(1)) * Dim(2) : x[at];
  if (ctx.has(1)) {
    const auto given = ctx.dims_value(1);
    if (given && given->size() != 1) return ctx.fail("a length of shape {}", shape_to_string(ctx.shape(1)));
    length = given ? (*given)[0] : ctx.data_dependent(0, *axis);
  }
  if (length.is_const() && (length.value() < 1 || length.value() > kLongest))
    return ctx.fail("a length of {}", length.value());
  Shape y = x;
  y[at] = form.onesided && !form.inverse && !(ctx.has(1) && !ctx.dims_value(1)) ? floor_div(length, Dim(2)) + Dim(1)
                                                                                : length;
  y.back() = Dim(form.real_result() ? 1 : 2);
  ctx.set_output(0, ctx.dtype(0), y);
  return {};
}

Status reference_dft(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  HostTensor& y = ctx.outputs[0];
  const DftForm form = read_form(ctx.node);
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", -2), x.rank()));
  const auto at = static_cast<size_t>(axis);
  const int64_t in = x.dims()[at], out = y.dims()[at], parts = x.dims().back(), results = y.dims().back();
  int64_t length = form.real_result() ? 2 * (in - 1) : in;
  if (ctx.has(1)) length = ctx.in(1).get_i64(0);
  if (length < 1 || length > kLongest) return invalid_argument("a length of {}", length);
  const auto n = static_cast<size_t>(length);
  const std::vector<Complex> w = roots(n, form.inverse ? 1 : -1);
  const std::vector<double> data = load_f64(x);
  std::vector<double> result(static_cast<size_t>(y.volume()));
  const int64_t inner = x.dims().strides()[at] / parts, outer = in == 0 ? 0 : x.volume() / (in * inner * parts);
  WOOTZ_RETURN_IF_ERROR(check_cost(length, outer * inner));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      std::vector<Complex> line(n);
      const auto bins = static_cast<int64_t>(form.real_result() ? n / 2 + 1 : n);
      for (int64_t k = 0; k < std::min(in, bins); ++k) {
        const double* p = data.data() + ((o * in + k) * inner + i) * parts;
        line[static_cast<size_t>(k)] = {p[0], parts == 2 ? p[1] : 0};
      }
      if (form.real_result()) {  // the other side is the conjugate
        line[0] = line[0].real();
        if (n % 2 == 0) line[n / 2] = line[n / 2].real();
        for (size_t k = n / 2 + 1; k < n; ++k) line[k] = std::conj(line[n - k]);
      }
      transform(line, w, 1);
      const double scale = form.inverse ? 1 / static_cast<double>(n) : 1;
      for (int64_t k = 0; k < out; ++k) {
        double* p = result.data() + ((o * out + k) * inner + i) * results;
        p[0] = line[static_cast<size_t>(k)].real() * scale;
        if (results == 2) p[1] = line[static_cast<size_t>(k)].imag() * scale;
      }
    }
  }
  store_f64(&y, 0, result);
  return {};
}

// Frame length of STFT: given, or the window's, or the whole signal.
std::optional<Dim> frame_length(const InferContext& ctx) {
  if (ctx.has(3)) {
    const auto given = ctx.dims_value(3);
    return given && given->size() == 1 ? std::optional<Dim>((*given)[0]) : std::nullopt;
  }
  return ctx.has(2) ? ctx.shape(2)[0] : ctx.shape(0)[1];
}

// Inputs signal [B,L] or [B,L,1 or 2], frame step, [window], [frame length]. Output [B,frames,bins,2].
Status infer_stft(InferContext& ctx) {
  const Shape& x = ctx.shape(0);
  const bool onesided = ctx.node().attr_int("onesided", 1) != 0;
  const bool complex = x.size() == 3 && x[2].is_const() && x[2].value() == 2;
  if ((x.size() != 2 && x.size() != 3) || !is_float(ctx.dtype(0)) || (x.size() == 3 && !complex && !(x[2] == Dim(1))))
    return ctx.fail("signal {} {}", dtype_name(ctx.dtype(0)), shape_to_string(x));
  if (onesided && complex) return ctx.fail("one side of a complex signal");
  if (ctx.has(2) && ctx.rank(2) != 1) return ctx.fail("window {}", shape_to_string(ctx.shape(2)));
  const auto step = ctx.dims_value(1);
  const std::optional<Dim> length = frame_length(ctx);
  if (step && step->size() == 1 && (*step)[0].is_const() && (*step)[0].value() < 1)
    return ctx.fail("a frame step of {}", (*step)[0].value());
  if (length && length->is_const() && (length->value() < 1 || length->value() > kLongest))
    return ctx.fail("frames of {}", length->value());
  if (ctx.has(2) && length && length->is_const() && ctx.shape(2)[0].is_const() && !(ctx.shape(2)[0] == *length))
    return ctx.fail("window {} for frames of {}", shape_to_string(ctx.shape(2)), length->value());
  const bool known = step && step->size() == 1 && length;
  const Dim frames = known ? floor_div(x[1] - *length, (*step)[0]) + Dim(1) : ctx.data_dependent(0, 1);
  const Dim bins = !length ? ctx.data_dependent(0, 2) : onesided ? floor_div(*length, Dim(2)) + Dim(1) : *length;
  if (frames.is_const() && frames.value() < 0)
    return ctx.fail("a signal of {} is shorter than a frame", x[1].to_string());
  ctx.set_output(0, ctx.dtype(0), {x[0], frames, bins, Dim(2)});
  return {};
}

Status reference_stft(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  HostTensor& y = ctx.outputs[0];
  const int64_t batch = x.dims()[0], length = x.dims()[1], parts = x.rank() == 3 ? x.dims()[2] : 1;
  const int64_t step = ctx.in(1).get_i64(0), frames = y.dims()[1], bins = y.dims()[2];
  const int64_t frame = ctx.has(3) ? ctx.in(3).get_i64(0) : ctx.has(2) ? ctx.in(2).volume() : length;
  const std::vector<double> data = load_f64(x);
  const std::vector<double> window =
      ctx.has(2) ? load_f64(ctx.in(2)) : std::vector<double>(static_cast<size_t>(frame), 1.0);
  if (static_cast<int64_t>(window.size()) != frame)
    return invalid_argument("a window of {} for frames of {}", window.size(), frame);
  if (frame < 1 || frame > kLongest || frames < 0) return invalid_argument("frames of {}", frame);
  WOOTZ_RETURN_IF_ERROR(check_cost(frame, batch * frames));
  const std::vector<Complex> w = roots(static_cast<size_t>(frame), -1);
  std::vector<double> result;
  result.reserve(static_cast<size_t>(y.volume()));
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t f = 0; f < frames; ++f) {
      std::vector<Complex> line(static_cast<size_t>(frame));
      for (int64_t i = 0; i < frame; ++i) {
        const double* p = data.data() + (b * length + f * step + i) * parts;
        line[static_cast<size_t>(i)] = Complex(p[0], parts == 2 ? p[1] : 0) * window[static_cast<size_t>(i)];
      }
      transform(line, w, 1);
      for (int64_t k = 0; k < bins; ++k) {
        result.push_back(line[static_cast<size_t>(k)].real());
        result.push_back(line[static_cast<size_t>(k)].imag());
      }
    }
  }
  store_f64(&y, 0, result);
  return {};
}

// Inputs (scalars): number of bands, DFT length, sample rate, lower and upper edge in Hz. Attribute to.
Status infer_mel(InferContext& ctx) {
  const auto bands = ctx.dims_value(0), length = ctx.dims_value(1);
  for (int i = 0; i < 5; ++i)
    if (!(volume(ctx.shape(i)) == Dim(1))) return ctx.fail("input {} of shape {}", i, shape_to_string(ctx.shape(i)));
  const DType to = ctx.node().attr_dtype("to", DType::kF32);
  ctx.set_output(0, to,
                 {length ? floor_div((*length)[0], Dim(2)) + Dim(1) : ctx.data_dependent(0, 0),
                  bands ? (*bands)[0] : ctx.data_dependent(0, 1)});
  return {};
}

Status reference_mel(EvalContext& ctx) {
  HostTensor& y = ctx.outputs[0];
  const int64_t rows = y.dims()[0], bands = y.dims()[1], length = ctx.in(1).get_i64(0), rate = ctx.in(2).get_i64(0);
  if (rate < 1) return invalid_argument("a sample rate of {}", rate);
  const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = to_mel(ctx.in(3).get_f64(0)),
               step = (to_mel(ctx.in(4).get_f64(0)) - low) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (low + static_cast<double>(i) * step) / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(bin >= 0 && bin <= static_cast<double>(rows)))
      return invalid_argument("an edge of {} Hz is outside the spectrum of {} bins", hertz, rows);
    edges.push_back(static_cast<int64_t>(bin));
  }
  const auto set = [&](int64_t row, int64_t band, double v) {
    if (row < rows) y.set_f64(row * bands + band, v);
  };
  for (int64_t b = 0; b < bands; ++b) {
    const int64_t left = edges[static_cast<size_t>(b)], center = edges[static_cast<size_t>(b) + 1],
                  right = edges[static_cast<size_t>(b) + 2];
    if (left == center) set(center, b, 1);
    for (int64_t j = left; j <= center && left < center; ++j)
      set(j, b, static_cast<double>(j - left) / static_cast<double>(center - left));
    for (int64_t j = center; j < right; ++j)
      set(j, b, static_cast<double>(right - j) / static_cast<double>(right - center));
  }
  return {};
}

const OpDef kDft{.name = "DFT",
                 .max_inputs = 2,
                 .attributes = {{"axis", AttrKind::kInt}, {"inverse", AttrKind::kInt}, {"onesided", AttrKind::kInt}},
                 .infer = infer_dft,
                 .reference = reference_dft};
const OpDef kStft{.name = "STFT",
                  .min_inputs = 2,
                  .max_inputs = 4,
                  .attributes = {{"onesided", AttrKind::kInt}},
                  .infer = infer_stft,
                  .reference = reference_stft};
const OpDef kMel{.name = "MelWeightMatrix",
                 .min_inputs = 5,
                 .max_inputs = 5,
                 .attributes = {{"to", AttrKind::kDType}},
                 .infer = infer_mel,
                 .reference = reference_mel};

}  // namespace

std::span<const OpDef* const> signal_ops() {
  static const OpDef* const kSignalDefs[] = {&kDft, &kStft, &kMel};
  return kSignalDefs;
}

}  // namespace wootz::ops
