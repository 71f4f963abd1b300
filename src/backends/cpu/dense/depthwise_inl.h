// The sums of a strip of a depthwise convolution, one vector of channels, for each target.
#if defined(WOOTZ_DEPTHWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WOOTZ_DEPTHWISE_INL_H
#undef WOOTZ_DEPTHWISE_INL_H
#else
#define WOOTZ_DEPTHWISE_INL_H
#endif

#include "backends/cpu/dense/depthwise_pixels.h"
#include "backends/cpu/pointwise/loop_inl.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace depthwise_strip {

template <class T>
HWY_INLINE V pixel(const T* at, int64_t n) {
  return n >= static_cast<int64_t>(hn::Lanes(F())) ? load_lanes(at) : load_tail(at, n);
}
HWY_INLINE V pixel(const uint16_t* at, int64_t n) { return pixel(reinterpret_cast<const Bf16Bits*>(at), n); }

// As of a whole strip, whose pixels are all there; every one is widened once and counts for all results it is under.
template <int kTaps, int kStride, class T, class Done>
HWY_INLINE void unrolled(const DepthwisePixels<T>& s, const float* w, int64_t step, V start, int64_t c, Done done) {
  constexpr int kPlaces = kDepthwisePlaces;
  const int64_t n = s.channels - c;
  V acc[kPlaces];
#pragma GCC unroll 8
  for (int p = 0; p < kPlaces; ++p) acc[p] = start;
  for (int64_t k = 0; k < s.rows; ++k) {
    const T* const* row = s.pixels + k * s.reach;
    V tap[kTaps];
#pragma GCC unroll 8
    for (int t = 0; t < kTaps; ++t) tap[t] = hn::LoadU(F(), w + (k * kTaps + t) * step);
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
  for (int p = 0; p < kPlaces; ++p)
    if (p < s.places) done(acc[p], p);
}

template <class T, class Done>
HWY_INLINE void plain(const DepthwisePixels<T>& s, const float* w, int64_t step, V start, int64_t c, Done done) {
  const int64_t n = s.channels - c;
  for (int64_t p = 0; p < s.places; ++p) {
    V acc = start;
    for (int64_t k = 0; k < s.rows; ++k)
      for (int64_t t = 0; t < s.taps; ++t)
        acc = hn::MulAdd(pixel(s.pixels[k * s.reach + p * s.stride + t * s.dilation] + c, n),
                         hn::LoadU(F(), w + (k * s.taps + t) * step), acc);
    done(acc, p);
  }
}

}  // namespace depthwise_strip

// done(sums, place) for a strip's results in the vector of channels from c on. `w`: their weights of the first tap;
// those of the next one are `step` further. `start`: what sums begin with.
template <class T, class Done>
HWY_INLINE void strip_sums(const DepthwisePixels<T>& s, const float* w, int64_t step, V start, int64_t c, Done done) {
  namespace d = depthwise_strip;
  switch (s.dilation == 1 ? 10 * s.taps + s.stride : 0) {
    case 31: return d::unrolled<3, 1>(s, w, step, start, c, done);
    case 32: return d::unrolled<3, 2>(s, w, step, start, c, done);
    case 51: return d::unrolled<5, 1>(s, w, step, start, c, done);
    case 52: return d::unrolled<5, 2>(s, w, step, start, c, done);
    default: return d::plain(s, w, step, start, c, done);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#endif  // WOOTZ_DEPTHWISE_INL_H
