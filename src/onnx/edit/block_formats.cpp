#include "onnx/edit/block_formats.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "base/thread_pool.h"

namespace wootz::importer {
namespace {

constexpr float kLargestE2M1 = 6, kLargestE4M3 = 448;
constexpr int kLargestCode = 0x7e;  // of E4M3: above it is NaN
constexpr uint8_t kOne = 0x38;      // of E4M3

// The blocks along an axis, which are gathered: element i of block b is at `first(b) + i * inner`.
struct Blocks {
  int64_t extent = 1, inner = 1, length = 1, count = 0;
  int64_t first(int64_t b) const {
    const int64_t each = extent / length;
    return b / inner / each * extent * inner + b / inner % each * length * inner + b % inner;
  }
};

Blocks blocks_of(const Dims& dims, int axis, int64_t length) {
  Blocks blocks{.extent = dims[axis], .length = length, .count = dims.volume() / length};
  for (int i = axis + 1; i < dims.rank(); ++i) blocks.inner *= dims[i];
  return blocks;
}

template <size_t kLength>
float gather(const float* from, int64_t step, float (&to)[kLength]) {
  float most = 0;
  for (size_t i = 0; i < kLength; ++i) {
    to[i] = from[static_cast<int64_t>(i) * step];
    most = std::max(most, std::fabs(to[i]));
  }
  return most;
}

// To the nearest, ties to the even code, as f32_to_small_float() of E2M1.
uint8_t e2m1(float value) {
  const float m = std::fabs(value);
  const int code = (m > 0.25F) + (m >= 0.75F) + (m > 1.25F) + (m >= 1.75F) + (m > 2.5F) + (m >= 3.5F) + (m > 5);
  return static_cast<uint8_t>(code | (std::signbit(value) ? 8 : 0));
}

constexpr float kE2M1[16] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};

double squared_error(const float (&values)[kNvfp4Block], float scale) {
  double lost = 0;
  for (const float v : values) {
    const double d = static_cast<double>(v) - static_cast<double>(kE2M1[e2m1(v / scale)] * scale);
    lost += d * d;
  }
  return lost;
}

// The code of a block's scale. By the scale that has the block's largest at 6 its other elements may be further off
// than by one nearby: of normally distributed weights the least error is a seventh below.
uint8_t best_scale(const float (&values)[kNvfp4Block], float most, float tensor_scale) {
  if (most == 0) return kOne;
  constexpr int kBelow = 2, kAbove = 5;  // so that 6 stands for up to the half more
  const int plain = f32_to_small_float(DType::kF8E4M3, most / kLargestE2M1 / tensor_scale, /*saturate=*/true);
  int best = std::max(plain, 1);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= kBelow + kAbove; ++i) {
    const int code = std::max(plain, 1) + (i == 0 ? 0 : i <= kBelow ? -i : i - kBelow);  // the plain one first
    if (code < 1 || code > kLargestCode) continue;
    const float scale = small_float_to_f32(DType::kF8E4M3, static_cast<uint8_t>(code)) * tensor_scale;
    if (const double lost = scale > 0 ? squared_error(values, scale) : least; lost < least) {
      least = lost;
      best = code;
    }
  }
  return static_cast<uint8_t>(best);
}

Status allocate(const HostTensor& weights, int axis, int64_t block, DType values, DType scales, NarrowWeights* made) {
  Dims dims = weights.dims();
  dims[axis] /= block;
  WOOTZ_ASSIGN_OR_RETURN(made->values, HostTensor::allocate(values, weights.dims()));
  WOOTZ_ASSIGN_OR_RETURN(made->scales, HostTensor::allocate(scales, dims));
  return Status();
}

void summarize(const HostTensor& weights, double factor, const Blocks& blocks, NarrowWeights* made) {
  Squares squares;
  made->least_scale = std::numeric_limits<double>::infinity();
  for (int64_t b = 0; b < blocks.count; ++b) {
    const double scale = static_cast<float>(made->scales.get_f64(b) * factor);
    made->least_scale = std::min(made->least_scale, scale);
    made->largest_scale = std::max(made->largest_scale, scale);
    for (int64_t i = 0, at = blocks.first(b); i < blocks.length; ++i, at += blocks.inner) {
      squares.add(weights.as<float>()[static_cast<size_t>(at)], made->values.get_f64(at) * scale);
    }
  }
  made->error = squares.error();
}

}  // namespace

Result<NarrowWeights> narrow_nvfp4(const HostTensor& weights, int axis) {
  NarrowWeights made;
  const Blocks blocks = blocks_of(weights.dims(), axis, kNvfp4Block);
  WOOTZ_RETURN_IF_ERROR(allocate(weights, axis, kNvfp4Block, DType::kF4E2M1, DType::kF8E4M3, &made));
  float most = 0;
  for (const float v : weights.as<float>()) most = std::max(most, std::fabs(v));
  const float tensor_scale = most == 0 ? 1 : std::max(most / (kLargestE2M1 * kLargestE4M3), FLT_MIN);
  made.tensor_scale = HostTensor::scalar<float>(tensor_scale);
  const float* const from = weights.as<float>().data();
  auto* const codes = static_cast<uint8_t*>(made.scales.mutable_data());
  parallel_for(blocks.count, 256, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      float values[kNvfp4Block];
      const float largest = gather(from + blocks.first(b), blocks.inner, values);
      codes[b] = best_scale(values, largest, tensor_scale);
    }
  });
  for (int64_t b = 0; b < blocks.count; ++b) {  // by one thread: two elements share a byte
    const float scale = small_float_to_f32(DType::kF8E4M3, codes[b]) * tensor_scale;
    for (int64_t i = 0, at = blocks.first(b); i < blocks.length; ++i, at += blocks.inner)
      made.values.set_f64(at, kE2M1[e2m1(from[at] / scale)]);
  }
  summarize(weights, tensor_scale, blocks, &made);
  return made;
}

Result<NarrowWeights> narrow_mxfp8(const HostTensor& weights, int axis) {
  NarrowWeights made;
  const Blocks blocks = blocks_of(weights.dims(), axis, kMxfp8Block);
  WOOTZ_RETURN_IF_ERROR(allocate(weights, axis, kMxfp8Block, DType::kF8E4M3, DType::kF8E8M0, &made));
  const float* const from = weights.as<float>().data();
  auto* const codes = static_cast<uint8_t*>(made.scales.mutable_data());
  auto* const to = static_cast<uint8_t*>(made.values.mutable_data());
  parallel_for(blocks.count, 256, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      constexpr int kBias = 127;
      float values[kMxfp8Block];
      const double most = gather(from + blocks.first(b), blocks.inner, values);
      int exponent = 0;  // of the least power of two with which the largest is no more than 448
      if (most > 0) {
        const double mantissa = std::frexp(most / kLargestE4M3, &exponent);
        if (mantissa == 0.5) --exponent;
      }
      exponent = std::clamp(exponent, -kBias, kBias);
      codes[b] = static_cast<uint8_t>(exponent + kBias);
      for (int64_t i = 0, at = blocks.first(b); i < kMxfp8Block; ++i, at += blocks.inner)
        to[at] = f32_to_small_float(DType::kF8E4M3, static_cast<float>(std::ldexp(double{values[i]}, -exponent)), true);
    }
  });
  summarize(weights, 1, blocks, &made);
  return made;
}

}  // namespace wootz::importer
