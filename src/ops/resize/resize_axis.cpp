#include "ops/resize/resize_axis.h"

#include <algorithm>
#include <cmath>

namespace wootz::ops {
namespace {

double source_coordinate(const ResizeMode& m, const ResizeAxis& a, double at) {
  const double in = static_cast<double>(a.in), out = a.exact_out;
  if (m.coordinate == "align_corners") return out == 1 ? 0 : at * (in - 1) / (out - 1);
  if (m.coordinate == "asymmetric") return at / a.scale;
  if (m.coordinate == "tf_half_pixel_for_nn") return (at + 0.5) / a.scale;
  if (m.coordinate == "tf_crop_and_resize") {
    const double span = (a.roi_end - a.roi_begin) * (in - 1);
    return a.roi_begin * (in - 1) + (out == 1 ? span / 2 : at * span / (out - 1));
  }
  const double half_pixel = (at + 0.5) / a.scale - 0.5;
  if (m.coordinate == "pytorch_half_pixel") return out == 1 ? -0.5 : half_pixel;
  if (m.coordinate == "half_pixel_symmetric") return in / 2 * (1 - static_cast<double>(a.out) / out) + half_pixel;
  return half_pixel;
}

int64_t nearest_index(const std::string& mode, double x) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  return static_cast<int64_t>(std::ceil(x - 0.5));
}

// Weight of an element at distance d.
double kernel_weight(const ResizeMode& m, double d) {
  d = std::abs(d);
  if (m.mode == "linear") return std::max(0.0, 1 - d);
  const double a = m.cubic_a;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

}  // namespace

ResizeMode read_resize_mode(const Node& node) {
  ResizeMode m;
  m.mode = node.attr_string("mode", "nearest");
  m.coordinate = node.attr_string("coordinate_transformation_mode", "half_pixel");
  m.nearest = node.attr_string("nearest_mode", "round_prefer_floor");
  m.cubic_a = node.attr_float("cubic_coeff_a", -0.75);
  m.extrapolation_value = node.attr_float("extrapolation_value", 0);
  m.exclude_outside = node.attr_int("exclude_outside") != 0;
  m.antialias = node.attr_int("antialias") != 0;
  return m;
}

Result<std::vector<ResizeTaps>> resize_taps(const ResizeMode& m, const ResizeAxis& a) {
  constexpr double kWidest = 1 << 24;
  // Antialiasing widens the kernel by how much is shrunk.
  const double stretch = m.antialias ? std::min(a.scale, 1.0) : 1;
  const double reach = (m.mode == "linear" ? 1 : 2) / stretch;
  if (m.mode != "nearest" && !(reach < kWidest)) return unsupported("a scale of {} with antialiasing", a.scale);
  std::vector<ResizeTaps> all(static_cast<size_t>(a.out));
  for (int64_t i = 0; i < a.out; ++i) {
    ResizeTaps& taps = all[static_cast<size_t>(i)];
    const double x = source_coordinate(m, a, static_cast<double>(i));
    if (!(std::abs(x) < 1e15)) return invalid_argument("a coordinate of {}", x);
    taps.outside = m.coordinate == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(a.in - 1));
    if (m.mode == "nearest") {
      taps.indices = {std::clamp<int64_t>(nearest_index(m.nearest, x), 0, a.in - 1)};
      taps.weights = {1};
      continue;
    }
    double sum = 0;
    for (auto at = static_cast<int64_t>(std::ceil(x - reach)); at <= static_cast<int64_t>(std::floor(x + reach));
         ++at) {
      double weight = kernel_weight(m, (static_cast<double>(at) - x) * stretch);
      if (m.exclude_outside && (at < 0 || at >= a.in)) weight = 0;
      if (weight == 0) continue;
      taps.indices.push_back(std::clamp<int64_t>(at, 0, a.in - 1));
      taps.weights.push_back(weight);
      sum += weight;
    }
    if (sum != 0)
      for (double& w : taps.weights) w /= sum;
  }
  return all;
}

Dim scaled_extent(const Dim& in, double scale) {
  const auto rounded = static_cast<float>(scale);
  for (int64_t q = 1; q <= 1024; ++q) {
    const double p = std::nearbyint(scale * static_cast<double>(q));
    if (p >= 1 && p < 1e12 && static_cast<float>(p / static_cast<double>(q)) == rounded)
      return floor_div(in * Dim(static_cast<int64_t>(p)), Dim(q));
  }
  int exponent = 0;  // exactly: scale = mantissa * 2^exponent with 24 bits of mantissa
  const double mantissa = std::ldexp(std::frexp(static_cast<double>(rounded), &exponent), 24);
  exponent -= 24;
  const auto m = static_cast<int64_t>(mantissa);
  if (exponent >= 0) return in * Dim(m << std::min(exponent, 30));
  if (exponent < -62) return Dim(0);
  return floor_div(in * Dim(m), Dim(int64_t{1} << -exponent));
}

}  // namespace wootz::ops
