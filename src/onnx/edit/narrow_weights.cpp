#include "onnx/edit/narrow_weights.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "base/half.h"

namespace wootz::importer {
namespace {

constexpr double kLargestF8 = 448, kLargestF16 = 65504;

// Which scale an element has: the tensor is `outer` x `extent` x `inner`, and the scales `outer` x `extent / block` x
// `inner`, or `extent` where each place of the axis has one.
struct Places {
  int64_t extent = 1, inner = 1, block = 1;
  bool channels = false;
  int64_t of(int64_t element) const {
    const int64_t at = element / inner % extent;
    return channels ? at : (element / inner / extent * (extent / block) + at / block) * inner + element % inner;
  }
};

Places places_of(const Dims& dims, int axis) {
  Places places;
  places.extent = dims[axis];
  for (int i = axis + 1; i < dims.rank(); ++i) places.inner *= dims[i];
  return places;
}

struct Ranges {
  std::vector<float> low, high;
};

Ranges ranges_of(std::span<const float> values, const Places& places, int64_t count) {
  Ranges ranges{std::vector<float>(static_cast<size_t>(count)), std::vector<float>(static_cast<size_t>(count))};
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<size_t>(places.of(static_cast<int64_t>(i)));
    ranges.low[at] = std::min(ranges.low[at], values[i]);
    ranges.high[at] = std::max(ranges.high[at], values[i]);
  }
  return ranges;
}

// A step that covers `range` by `steps`; one that is 0 would make everything NaN.
float step_of(double range, double steps) {
  return range == 0 ? 1.F : std::max(static_cast<float>(range / steps), FLT_MIN);
}

double rounded(double value, DType type, double low, double high) {
  if (type == DType::kF8E4M3) return value;  // the tensor rounds
  return std::clamp(std::nearbyint(value), low, high);
}

Status fill(const HostTensor& weights, const Places& places, NarrowWeights* made, double low, double high) {
  const std::span<const float> values = weights.as<float>();
  const std::span<const float> scales = made->scales.as<float>();
  Squares squares;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i), place = places.of(at);
    const float scale = scales[static_cast<size_t>(place)];
    const double zero = made->zero_points.valid() ? made->zero_points.get_f64(place) : 0;
    made->values.set_f64(at, rounded(values[i] / scale + zero, made->values.dtype(), low, high));
    squares.add(values[i], (made->values.get_f64(at) - zero) * scale);
  }
  made->error = squares.error();
  made->least_scale = *std::min_element(scales.begin(), scales.end());
  made->largest_scale = *std::max_element(scales.begin(), scales.end());
  return Status();
}

}  // namespace

Result<NarrowWeights> narrow_channels(const HostTensor& weights, DType type, int axis) {
  NarrowWeights made;
  Places places;
  places.channels = true;
  if (axis >= 0) places = places_of(weights.dims(), axis);
  places.channels = true;
  const int64_t count = axis >= 0 ? places.extent : 1;
  WOOTZ_ASSIGN_OR_RETURN(made.values, HostTensor::allocate(type, weights.dims()));
  WOOTZ_ASSIGN_OR_RETURN(made.scales, HostTensor::allocate(DType::kF32, axis >= 0 ? Dims{count} : Dims{}));
  const Ranges ranges = ranges_of(weights.as<float>(), places, count);
  const double steps = type == DType::kI8 ? 127 : kLargestF8;
  for (size_t c = 0; c < ranges.high.size(); ++c)
    made.scales.as_mutable<float>()[c] = step_of(std::max(ranges.high[c], -ranges.low[c]), steps);
  WOOTZ_RETURN_IF_ERROR(fill(weights, places, &made, -127, 127));
  return made;
}

Result<NarrowWeights> narrow_blocks(const HostTensor& weights, int axis, int64_t block, bool zero_points) {
  NarrowWeights made;
  Places places = places_of(weights.dims(), axis);
  places.block = block;
  Dims scales = weights.dims();
  scales[axis] /= block;
  WOOTZ_ASSIGN_OR_RETURN(made.values, HostTensor::allocate(zero_points ? DType::kU4 : DType::kI4, weights.dims()));
  WOOTZ_ASSIGN_OR_RETURN(made.scales, HostTensor::allocate(DType::kF32, scales));
  if (zero_points) {
    WOOTZ_ASSIGN_OR_RETURN(made.zero_points, HostTensor::allocate(DType::kU4, scales));
  }
  const Ranges ranges = ranges_of(weights.as<float>(), places, scales.volume());
  for (size_t b = 0; b < ranges.high.size(); ++b) {
    float& scale = made.scales.as_mutable<float>()[b];
    if (!zero_points) {
      scale = step_of(std::max(ranges.high[b], -ranges.low[b]), 7);
      continue;
    }
    scale = step_of(static_cast<double>(ranges.high[b]) - ranges.low[b], 15);
    made.zero_points.set_f64(static_cast<int64_t>(b), std::clamp(std::nearbyint(-ranges.low[b] / scale), 0.F, 15.F));
  }
  WOOTZ_RETURN_IF_ERROR(fill(weights, places, &made, zero_points ? 0 : -7, zero_points ? 15 : 7));
  return made;
}

Result<HostTensor> rounded_to(const HostTensor& values, DType type, double* error) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(type, values.dims()));
  const std::span<const float> from = values.as<float>();
  const double largest = type == DType::kF16 ? kLargestF16 : std::bit_cast<float>(0x7f7f0000U);
  Squares squares;
  for (size_t i = 0; i < from.size(); ++i) {
    const double value = std::isfinite(from[i]) ? std::clamp<double>(from[i], -largest, largest) : from[i];
    made.set_f64(static_cast<int64_t>(i), value);
    if (std::isfinite(from[i])) squares.add(from[i], made.get_f64(static_cast<int64_t>(i)));
  }
  *error = squares.error();
  return made;
}

}  // namespace wootz::importer
