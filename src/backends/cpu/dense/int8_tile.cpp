#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/dense/int8_tile.cpp"
#include "hwy/foreach_target.h"

#include <cstring>

#include "backends/cpu/dense/int8_tile.h"
#include "backends/cpu/simd/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

using I16 = hn::ScalableTag<int16_t>;

// As for floats: sums of kRows x kVectors vectors in registers.
constexpr int kVectors = 2;
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 10;
#else
constexpr int kRows = 6;
#endif
constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr int64_t kPanel = kVectors * kLanes;

template <int kM>
HWY_INLINE void block(const Int8Tile& t, int64_t row) {
  hn::Vec<I> acc[kM][kVectors], unused = hn::Zero(I());
  int32_t* sums = t.sums + row * t.stride;
  const int16_t* a[kM];
#pragma GCC unroll 10
  for (int i = 0; i < kM; ++i) {
    a[i] = t.values + (row + i) * t.value_stride;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      acc[i][v] = t.accumulate ? hn::LoadU(I(), sums + i * t.stride + v * kLanes) : hn::Zero(I());
  }
  const int16_t* w = t.weights;
  for (int64_t pair = 0; pair < t.pairs; ++pair, w += 2 * kPanel) {
    hn::Vec<I16> b[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) b[v] = hn::LoadU(I16(), w + 2 * v * kLanes);
#pragma GCC unroll 10
    for (int i = 0; i < kM; ++i) {
      int32_t both;
      std::memcpy(&both, a[i] + 2 * pair, sizeof both);
      const auto x = hn::BitCast(I16(), hn::Set(I(), both));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::ReorderWidenMulAccumulate(I(), x, b[v], acc[i][v], unused);
    }
  }
#pragma GCC unroll 10
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[i][v], I(), sums + i * t.stride + v * kLanes);
}

void tile(const Int8Tile& t, int64_t rows) {
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) block<kRows>(t, i);
  for (; i + 4 <= rows; i += 4) block<4>(t, i);
  for (; i + 2 <= rows; i += 2) block<2>(t, i);
  for (; i < rows; ++i) block<1>(t, i);
}

template <class T>
HWY_INLINE void widen_as(const T* from, int32_t zero, int64_t n, int16_t* to) {
  const I16 d16;
  const hn::Rebind<T, I16> d8;
  constexpr auto lanes = static_cast<int64_t>(HWY_LANES(int16_t));
  const auto z = hn::Set(d16, static_cast<int16_t>(zero));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Sub(hn::PromoteTo(d16, hn::LoadU(d8, from + i)), z), d16, to + i);
  for (; i < n; ++i) to[i] = static_cast<int16_t>(from[i] - zero);
}

void widen(const uint8_t* from, bool is_signed, int32_t zero, int64_t n, int16_t* to) {
  if (is_signed)
    widen_as(reinterpret_cast<const int8_t*>(from), zero, n, to);
  else
    widen_as(from, zero, n, to);
}

void scale(int32_t* sums, int64_t n, const float* by, const float* bias) {
  auto* out = reinterpret_cast<float*>(sums);
  for (int64_t i = 0; i < n; i += kLanes) {
    const auto mask = hn::FirstN(F(), static_cast<size_t>(n - i < kLanes ? n - i : kLanes));
    const V start = bias == nullptr ? hn::Zero(F()) : hn::MaskedLoad(mask, F(), bias + i);
    const V value = hn::ConvertTo(F(), hn::LoadU(I(), sums + i));
    hn::StoreU(hn::MulAdd(value, hn::LoadU(F(), by + i), start), F(), out + i);
  }
}

}  // namespace

const Int8Ops& int8_kernels() {
  static constexpr Int8Ops kOps{{kPanel, kRows}, widen, tile, scale};
  return kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
const Int8Ops& int8_ops(Isa isa) { return WOOTZ_BY_ISA(isa, int8_kernels()); }
}  // namespace wootz::cpu
#endif
