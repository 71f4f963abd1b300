// Loops over vectors with an exact tail, compiled for each target. Sources and results may have narrower elements than
// the f32 lanes that are computed in.
#if defined(WOOTZ_POINTWISE_LOOP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WOOTZ_POINTWISE_LOOP_INL_H
#undef WOOTZ_POINTWISE_LOOP_INL_H
#else
#define WOOTZ_POINTWISE_LOOP_INL_H
#endif

#include <cstring>

#include "backends/cpu/simd/math_inl.h"
#include "base/dtype.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {

// Element types in memory, by how they become f32 lanes.
struct F16Bits {
  uint16_t bits;
};
struct Bf16Bits {
  uint16_t bits;
};

HWY_INLINE V load_lanes(const float* p) { return hn::LoadU(F(), p); }
HWY_INLINE V load_lanes(const F16Bits* p) {
  const hn::Rebind<hwy::float16_t, F> d16;
  return hn::PromoteTo(F(), hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(p)));
}
HWY_INLINE V load_lanes(const Bf16Bits* p) {
  const hn::Rebind<uint16_t, F> d16;
  const hn::Rebind<uint32_t, F> d32;
  return hn::BitCast(F(), hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(p)))));
}
HWY_INLINE V load_lanes(const uint8_t* p) {
  return hn::ConvertTo(F(), hn::PromoteTo(I(), hn::LoadU(hn::Rebind<uint8_t, F>(), p)));
}
HWY_INLINE V load_lanes(const int8_t* p) {
  return hn::ConvertTo(F(), hn::PromoteTo(I(), hn::LoadU(hn::Rebind<int8_t, F>(), p)));
}
HWY_INLINE V load_lanes(const int32_t* p) { return hn::ConvertTo(F(), hn::LoadU(I(), p)); }

HWY_INLINE void store_lanes(V v, float* p) { hn::StoreU(v, F(), p); }
HWY_INLINE void store_lanes(V v, F16Bits* p) {
  const hn::Rebind<hwy::float16_t, F> d16;
  hn::StoreU(hn::DemoteTo(d16, v), d16, reinterpret_cast<hwy::float16_t*>(p));
}
// Round to nearest even in integer arithmetic; NaN keeps its upper bits and stays NaN.
HWY_INLINE void store_lanes(V v, Bf16Bits* p) {
  const hn::Rebind<uint32_t, F> d32;
  const hn::Rebind<uint16_t, F> d16;
  const auto u = hn::BitCast(d32, v);
  const auto odd = hn::And(hn::ShiftRight<16>(u), hn::Set(d32, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(u, hn::Add(odd, hn::Set(d32, 0x7fff))));
  const auto quiet = hn::Or(hn::ShiftRight<16>(u), hn::Set(d32, 0x40));
  const auto nan = hn::RebindMask(d32, hn::IsNaN(v));
  const auto r = hn::IfThenElse(nan, quiet, rounded);
  hn::StoreU(hn::TruncateTo(d16, r), d16, reinterpret_cast<uint16_t*>(p));
}
// Lanes that are integral and within the type.
HWY_INLINE void store_lanes(V v, uint8_t* p) {
  const hn::Rebind<uint8_t, F> d8;
  hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(v)), d8, p);
}
HWY_INLINE void store_lanes(V v, int8_t* p) {
  const hn::Rebind<int8_t, F> d8;
  hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(v)), d8, p);
}
HWY_INLINE void store_mask(hn::Mask<F> m, uint8_t* p) {
  const hn::Rebind<uint8_t, F> d8;
  const auto ones = hn::IfThenElseZero(hn::RebindMask(I(), m), hn::Set(I(), 1));
  hn::StoreU(hn::DemoteTo(d8, ones), d8, p);
}

// The last n < Lanes elements.
template <class T>
HWY_INLINE V load_tail(const T* p, int64_t n) {
  alignas(64) T lanes[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(lanes, p, static_cast<size_t>(n) * sizeof(T));
  return load_lanes(lanes);
}
template <class T>
HWY_INLINE void store_tail(V v, T* p, int64_t n) {
  alignas(64) T lanes[HWY_MAX_BYTES / sizeof(float)];
  store_lanes(v, lanes);
  std::memcpy(p, lanes, static_cast<size_t>(n) * sizeof(T));
}

template <class In, class Out, class Fn>
HWY_INLINE void map1(const In* a, Out* dst, int64_t n, Fn f) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store_lanes(f(load_lanes(a + i)), dst + i);
  if (i < n) store_tail(f(load_tail(a + i, n - i)), dst + i, n - i);
}
template <class Out, class Fn>
HWY_INLINE void map2(const float* a, const float* b, Out* dst, int64_t n, Fn f) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store_lanes(f(load_lanes(a + i), load_lanes(b + i)), dst + i);
  if (i < n) store_tail(f(load_tail(a + i, n - i), load_tail(b + i, n - i)), dst + i, n - i);
}
template <class Out, class Fn>
HWY_INLINE void map3(const float* a, const float* b, const float* c, Out* dst, int64_t n, Fn f) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store_lanes(f(load_lanes(a + i), load_lanes(b + i), load_lanes(c + i)), dst + i);
  if (i < n) store_tail(f(load_tail(a + i, n - i), load_tail(b + i, n - i), load_tail(c + i, n - i)), dst + i, n - i);
}
// f gives a mask; the result is bool.
template <class Fn>
HWY_INLINE void map_mask(const float* a, const float* b, uint8_t* dst, int64_t n, Fn f) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store_mask(f(load_lanes(a + i), load_lanes(b + i)), dst + i);
  if (i < n) {
    alignas(64) uint8_t last[HWY_MAX_BYTES / sizeof(float)];
    store_mask(f(load_tail(a + i, n - i), load_tail(b + i, n - i)), last);
    std::memcpy(dst + i, last, static_cast<size_t>(n - i));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#endif  // WOOTZ_POINTWISE_LOOP_INL_H
