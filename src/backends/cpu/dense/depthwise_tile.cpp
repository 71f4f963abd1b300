#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/dense/depthwise_tile.cpp"
#include "hwy/foreach_target.h"

#include <algorithm>

#include "backends/cpu/dense/bf16_finish_inl.h"
#include "backends/cpu/dense/depthwise_tile.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr int kPlaces = kDepthwisePlaces;

HWY_INLINE V pixel(const uint16_t* at, int64_t n) { return load_first(reinterpret_cast<const Bf16Bits*>(at), n); }

// A whole strip of one vector of channels from c on; every pixel is widened once and counts for all results it is
// under.
template <int kTaps, int kStride>
HWY_INLINE void unrolled(const DepthwiseStrip& s, const float* w, V start, int64_t c) {
  const int64_t n = s.columns - c;
  V acc[kPlaces];
#pragma GCC unroll 8
  for (int p = 0; p < kPlaces; ++p) acc[p] = start;
  for (int64_t k = 0; k < s.rows; ++k) {
    const uint16_t* const* row = s.pixels + k * s.reach;
    V tap[kTaps];
#pragma GCC unroll 8
    for (int t = 0; t < kTaps; ++t) tap[t] = hn::LoadU(F(), w + (k * kTaps + t) * kDepthwiseLanes);
#pragma GCC unroll 32
    for (int j = 0; j < (kPlaces - 1) * kStride + kTaps; ++j) {
      const V x = pixel(row[j] + c, n);
#pragma GCC unroll 8
      for (int t = 0; t < kTaps; ++t)
        if ((j - t) % kStride == 0 && j >= t && (j - t) / kStride < kPlaces)
          acc[(j - t) / kStride] = hn::MulAdd(x, tap[t], acc[(j - t) / kStride]);
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPlaces; ++p) finish(s, acc[p], p, c);
}

HWY_INLINE void plain(const DepthwiseStrip& s, const float* w, V start, int64_t c) {
  const int64_t n = s.columns - c;
  for (int64_t p = 0; p < s.places; ++p) {
    V acc = start;
    for (int64_t k = 0; k < s.rows; ++k)
      for (int64_t t = 0; t < s.taps; ++t)
        acc = hn::MulAdd(pixel(s.pixels[k * s.reach + p * s.stride + t * s.dilation] + c, n),
                         hn::LoadU(F(), w + (k * s.taps + t) * kDepthwiseLanes), acc);
    finish(s, acc, p, c);
  }
}

void strip(const DepthwiseStrip& s) {
  const auto all = [&](auto one) HWY_ATTR {
    for (int64_t c = 0; c < s.columns; c += kLanes) {
      const float* w = s.weights + c / kDepthwiseLanes * s.rows * s.taps * kDepthwiseLanes + c % kDepthwiseLanes;
      one(w, s.bias == nullptr ? hn::Zero(F()) : load_first(s.bias + c, s.columns - c), c);
    }
  };
  const int64_t kind = s.dilation == 1 && s.places == kPlaces ? 10 * s.taps + s.stride : 0;
  switch (kind) {
    case 31: return all([&](const float* w, V b, int64_t c) HWY_ATTR { unrolled<3, 1>(s, w, b, c); });
    case 32: return all([&](const float* w, V b, int64_t c) HWY_ATTR { unrolled<3, 2>(s, w, b, c); });
    case 51: return all([&](const float* w, V b, int64_t c) HWY_ATTR { unrolled<5, 1>(s, w, b, c); });
    case 52: return all([&](const float* w, V b, int64_t c) HWY_ATTR { unrolled<5, 2>(s, w, b, c); });
    default: return all([&](const float* w, V b, int64_t c) HWY_ATTR { plain(s, w, b, c); });
  }
}

}  // namespace

const DepthwiseOps& depthwise() {
  static constexpr DepthwiseOps kOps{strip};
  return kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
const DepthwiseOps& depthwise_ops(Isa isa) { return WOOTZ_BY_ISA(isa, depthwise()); }
}  // namespace wootz::cpu
#endif
