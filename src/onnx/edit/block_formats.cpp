#include "onnx/edit/block_formats.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

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

// The code nearest to a magnitude stands for multiples of 0.5 up to 2, of 1 up to 4, of 2 above. Adding 1.5 x 2^23
// rounds to an integer, ties to even. Without branches, so that the loop is one of vectors.
template <typename Sum>
Sum squared_error(const float (&values)[kNvfp4Block], float scale) {
  constexpr float kRound = 12582912;
  float rounded[kNvfp4Block];
  Sum all = 0;
  for (size_t i = 0; i < kNvfp4Block; ++i) {
    const float m = std::fabs(values[i]) / scale;
    const float fine = (m * 2 + kRound - kRound) * 0.5F, middle = m + kRound - kRound;
    const float coarse = (m * 0.5F + kRound - kRound) * 2;
    const float code = std::min(m < 2 ? fine : m < 4 ? middle : coarse, kLargestE2M1);
    rounded[i] = code * scale;
  }
  for (size_t i = 0; i < kNvfp4Block; ++i) {
    const Sum d = Sum{std::fabs(values[i])} - Sum{rounded[i]};
    all += d * d;
  }
  return all;
}

// What the codes of E4M3 stand for.
const std::array<float, 256>& values_of_e4m3() {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> all{};
    for (size_t code = 0; code < all.size(); ++code)
      all[code] = small_float_to_f32(DType::kF8E4M3, static_cast<uint8_t>(code));
    return all;
  }();
  return values;
}

// The code of a block's scale. By the scale that has the block's largest at 6 its other elements may be further off
// than by one nearby: of normally distributed weights the least error is a seventh below.
uint8_t best_scale(const float (&values)[kNvfp4Block], float most, float tensor_scale) {
  if (most == 0) return kOne;
  constexpr int kBelow = 2, kAbove = 5;  // so that 6 stands for up to the half more
  const int plain =
      std::max<int>(f32_to_small_float(DType::kF8E4M3, most / kLargestE2M1 / tensor_scale, /*saturate=*/true), 1);
  int codes[1 + kBelow + kAbove];
  float scales[std::size(codes)], rough[std::size(codes)], least_rough = std::numeric_limits<float>::infinity();
  size_t count = 0;
  for (int i = 0; i <= kBelow + kAbove; ++i) {
    const int code = plain + (i == 0 ? 0 : i <= kBelow ? -i : i - kBelow);  // the plain one first
    if (code < 1 || code > kLargestCode) continue;
    const float scale = values_of_e4m3()[static_cast<size_t>(code)] * tensor_scale;
    if (!(scale > 0)) continue;
    codes[count] = code;
    scales[count] = scale;
    rough[count] = squared_error<float>(values, scale);
    least_rough = std::min(least_rough, rough[count++]);
  }
  // Exactly only where two are close.
  constexpr float kClose = 1.0001F;
  int best = plain;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < count; ++i) {
    if (rough[i] > least_rough * kClose) continue;
    if (const double lost = squared_error<double>(values, scales[i]); lost < least) {
      least = lost;
      best = codes[i];
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

constexpr int64_t kBlocksAtOnce = 256;

// What rounding loses, summed up by groups of blocks, so that the sum is the same for any number of threads.
struct Losses {
  explicit Losses(int64_t blocks) : groups(static_cast<size_t>((blocks + kBlocksAtOnce - 1) / kBlocksAtOnce)) {}
  std::vector<Squares> groups;
  Squares& of(int64_t block) { return groups[static_cast<size_t>(block / kBlocksAtOnce)]; }
  double error() const {
    Squares all;
    for (const Squares& s : groups) {
      all.all += s.all;
      all.lost += s.lost;
    }
    return all.error();
  }
};

void note_scales(double factor, const Blocks& blocks, NarrowWeights* made) {
  made->least_scale = std::numeric_limits<double>::infinity();
  for (int64_t b = 0; b < blocks.count; ++b) {
    const double scale = static_cast<float>(made->scales.get_f64(b) * factor);
    made->least_scale = std::min(made->least_scale, scale);
    made->largest_scale = std::max(made->largest_scale, scale);
  }
}

// Two codes of 4 bits a byte, the first one in its low half.
void pack_halves(const std::vector<uint8_t>& codes, uint8_t* to) {
  const auto bytes = static_cast<int64_t>(codes.size() + 1) / 2;
  parallel_for(bytes, 1 << 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i) * 2;
      to[i] = static_cast<uint8_t>(codes[at] | (at + 1 < codes.size() ? codes[at + 1] << 4 : 0));
    }
  });
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
  std::vector<uint8_t> elements(static_cast<size_t>(weights.volume()));
  Losses losses(blocks.count);
  parallel_for(static_cast<int64_t>(losses.groups.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin * kBlocksAtOnce; b < std::min(end * kBlocksAtOnce, blocks.count); ++b) {
      float values[kNvfp4Block];
      const float largest = gather(from + blocks.first(b), blocks.inner, values);
      codes[b] = best_scale(values, largest, tensor_scale);
      const float scale = values_of_e4m3()[codes[b]] * tensor_scale;
      auto at = static_cast<size_t>(blocks.first(b));
      for (const float value : values) {
        elements[at] = e2m1(value / scale);
        losses.of(b).add(value, double{kE2M1[elements[at]]} * double{scale});
        at += static_cast<size_t>(blocks.inner);
      }
    }
  });
  pack_halves(elements, static_cast<uint8_t*>(made.values.mutable_data()));
  made.error = losses.error();
  note_scales(tensor_scale, blocks, &made);
  return made;
}

Result<NarrowWeights> narrow_mxfp8(const HostTensor& weights, int axis) {
  NarrowWeights made;
  const Blocks blocks = blocks_of(weights.dims(), axis, kMxfp8Block);
  WOOTZ_RETURN_IF_ERROR(allocate(weights, axis, kMxfp8Block, DType::kF8E4M3, DType::kF8E8M0, &made));
  const float* const from = weights.as<float>().data();
  auto* const codes = static_cast<uint8_t*>(made.scales.mutable_data());
  auto* const to = static_cast<uint8_t*>(made.values.mutable_data());
  Losses losses(blocks.count);
  parallel_for(static_cast<int64_t>(losses.groups.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin * kBlocksAtOnce; b < std::min(end * kBlocksAtOnce, blocks.count); ++b) {
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
      const double scale = std::ldexp(1.0, exponent);
      int64_t at = blocks.first(b);
      for (const float value : values) {
        to[at] = f32_to_small_float(DType::kF8E4M3, static_cast<float>(double{value} / scale), true);
        losses.of(b).add(value, double{values_of_e4m3()[to[at]]} * scale);
        at += blocks.inner;
      }
    }
  });
  made.error = losses.error();
  note_scales(1, blocks, &made);
  return made;
}

}  // namespace wootz::importer
