#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/dense/tile.cpp"
#include "hwy/foreach_target.h"

#include <algorithm>

#include "backends/cpu/dense/tile.h"
#include "backends/cpu/simd/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

// The sums of kRows x kVectors vectors stay in registers: 12 of 16, or 20 of 32. More rows would need more addresses
// than there are registers for.
constexpr int kVectors = 2;
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 10;
#else
constexpr int kRows = 6;
#endif

// kN: the vectors of a row that are computed; weights always lie in whole panels.
// Why so long: the sums are an array that stays in registers only while all that touches it is unrolled in one
// function.
template <int kM, int kN, bool kTail>
HWY_INLINE void block(const DenseTile& t, int64_t row) {
  constexpr auto lanes = static_cast<int64_t>(HWY_LANES(float));
  float* out = t.out + row * t.stride;
  const auto mask = [&](int v) HWY_ATTR {
    return hn::FirstN(F(), static_cast<size_t>(std::clamp<int64_t>(t.columns - v * lanes, 0, lanes)));
  };
  const auto load = [&](const float* p, int v) HWY_ATTR {
    return kTail ? hn::MaskedLoad(mask(v), F(), p + v * lanes) : hn::LoadU(F(), p + v * lanes);
  };
  V acc[kM][kN];
  if (t.accumulate) {
#pragma GCC unroll 10
    for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < kN; ++v) acc[i][v] = load(out + i * t.stride, v);
  } else {
#pragma GCC unroll 4
    for (int v = 0; v < kN; ++v) {
      const V start = t.bias == nullptr ? hn::Zero(F()) : load(t.bias, v);
#pragma GCC unroll 10
      for (int i = 0; i < kM; ++i) acc[i][v] = start;
    }
  }
  const float* w = t.weights;
  for (int64_t tap = 0; tap < t.num_taps; ++tap) {
    const float* a[kM];
#pragma GCC unroll 10
    for (int i = 0; i < kM; ++i) a[i] = t.taps[tap * t.tap_stride + row + i] + t.first;
    for (int64_t e = 0; e < t.length; ++e) {
      V b[kN];
#pragma GCC unroll 4
      for (int v = 0; v < kN; ++v) b[v] = hn::LoadU(F(), w + v * lanes);
      w += kVectors * lanes;
#pragma GCC unroll 10
      for (int i = 0; i < kM; ++i) {
        const V x = hn::Set(F(), a[i][e]);
#pragma GCC unroll 4
        for (int v = 0; v < kN; ++v) acc[i][v] = hn::MulAdd(x, b[v], acc[i][v]);
      }
    }
  }
  if (t.finish) {
    const float* added = t.added == nullptr ? nullptr : t.added + row * t.stride;
    const V low = splat(t.low), high = splat(t.high);
#pragma GCC unroll 10
    for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < kN; ++v) {
        V& x = acc[i][v];
        if (added != nullptr) x = hn::Add(x, load(added + i * t.stride, v));
        // The second operand is kept when it is NaN.
        if (t.bounded) x = hn::Min(high, hn::Max(low, x));
      }
  }
#pragma GCC unroll 10
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kN; ++v) {
      float* to = out + i * t.stride + v * lanes;
      if (kTail)
        hn::BlendedStore(acc[i][v], mask(v), F(), to);
      else
        hn::StoreU(acc[i][v], F(), to);
    }
}

template <int kN, bool kTail>
void all_rows(const DenseTile& t, int64_t rows) {
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) block<kRows, kN, kTail>(t, i);
  for (; i + 4 <= rows; i += 4) block<4, kN, kTail>(t, i);
  for (; i + 2 <= rows; i += 2) block<2, kN, kTail>(t, i);
  for (; i < rows; ++i) block<1, kN, kTail>(t, i);
}

constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr int64_t kPanel = kVectors * kLanes;

void tile(const DenseTile& t, int64_t rows) {
  if (t.columns == kPanel)
    all_rows<kVectors, false>(t, rows);
  else if (t.columns > kLanes)
    all_rows<kVectors, true>(t, rows);
  else if (t.columns == kLanes)
    all_rows<1, false>(t, rows);
  else
    all_rows<1, true>(t, rows);
}

}  // namespace

const DenseOps& dense() {
  static constexpr DenseOps kOps{{kPanel, kRows}, tile};
  return kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
const DenseOps& dense_ops(Isa isa) { return WOOTZ_BY_ISA(isa, dense()); }
}  // namespace wootz::cpu
#endif
