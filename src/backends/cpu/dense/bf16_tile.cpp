// For processors without products of BF16: pairs are taken apart, each half is the upper one of a float.
#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/dense/bf16_tile.cpp"
#include "hwy/foreach_target.h"

#include <cstring>

#include "backends/cpu/dense/bf16_finish_inl.h"
#include "backends/cpu/dense/bf16_tile.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

using U32 = hn::ScalableTag<uint32_t>;

constexpr int kVectors = 2;
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 8;
#else
constexpr int kRows = 4;
#endif
constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));

HWY_INLINE V lower(hn::Vec<U32> pair) { return hn::BitCast(F(), hn::ShiftLeft<16>(pair)); }
HWY_INLINE V upper(hn::Vec<U32> pair) { return hn::BitCast(F(), hn::And(pair, hn::Set(U32(), 0xffff0000u))); }

template <int kM>
HWY_INLINE void block(const Bf16Tile& t, int64_t row, int64_t column) {
  V acc[kM][kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const int64_t c = column + v * kLanes;
    const V start = t.bias == nullptr || c >= t.columns ? hn::Zero(F()) : load_first(t.bias + c, t.columns - c);
#pragma GCC unroll 8
    for (int i = 0; i < kM; ++i) acc[i][v] = t.accumulate ? hn::LoadU(F(), t.sums + (row + i) * t.stride + c) : start;
  }
  const uint16_t* w = t.weights + 2 * column;
  for (int64_t tap = 0; tap < t.num_taps; ++tap) {
    const uint16_t* const* a = t.taps + tap * t.tap_stride + row;
    const auto add = [&](auto value) HWY_ATTR {
      V low[kVectors], high[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const auto pair = hn::LoadU(U32(), reinterpret_cast<const uint32_t*>(w + 2 * v * kLanes));
        low[v] = lower(pair);
        high[v] = upper(pair);
      }
      w += 2 * t.wide;
#pragma GCC unroll 8
      for (int i = 0; i < kM; ++i) {
        const auto both = hn::Set(U32(), value(a[i] + t.first));
        const V x = lower(both), y = upper(both);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[i][v] = hn::MulAdd(y, high[v], hn::MulAdd(x, low[v], acc[i][v]));
      }
    };
    int64_t e = 0;
    for (; e + 2 <= t.length; e += 2)
      add([e](const uint16_t* from) {
        uint32_t both;
        std::memcpy(&both, from + e, sizeof both);
        return both;
      });
    if (e < t.length) add([e](const uint16_t* from) { return uint32_t{from[e]}; });
  }
#pragma GCC unroll 8
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const int64_t c = column + v * kLanes;
      if (!t.finish)
        hn::StoreU(acc[i][v], F(), t.sums + (row + i) * t.stride + c);
      else if (c < t.columns)
        finish(t, acc[i][v], row + i, c);
    }
}

void tile(const Bf16Tile& t, int64_t rows) {
  for (int64_t c = 0; c < t.wide; c += kVectors * kLanes) {
    int64_t i = 0;
    for (; i + kRows <= rows; i += kRows) block<kRows>(t, i, c);
    for (; i + 2 <= rows; i += 2) block<2>(t, i, c);
    for (; i < rows; ++i) block<1>(t, i, c);
  }
}

void widen(const uint16_t* from, int64_t n, float* to) {
  map1(reinterpret_cast<const Bf16Bits*>(from), to, n, [](V x) HWY_ATTR { return x; });
}

}  // namespace

const Bf16Ops& bf16_kernels() {
  static constexpr Bf16Ops kOps{
      {.panel = kBf16Panel, .rows = kRows, .unit_rows = 192, .part = 512, .step = 2}, tile, widen};
  return kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
const Bf16Ops& bf16_ops(Isa isa) {
  return isa == Isa::kAvx512 && cpu_info().avx512_bf16 ? kBf16DotOps : WOOTZ_BY_ISA(isa, bf16_kernels());
}
}  // namespace wootz::cpu
#endif
