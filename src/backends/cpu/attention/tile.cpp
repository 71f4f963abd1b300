#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention/tile.cpp"
#include "hwy/foreach_target.h"

#include <limits>

#include "backends/cpu/attention/tile.h"
#include "backends/cpu/pointwise/loop_inl.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

// The accumulators of kRows x kVectors vectors stay in registers: 12 of 16, or 24 of 32.
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 6, kVectors = 4;
#else
constexpr int kRows = 6, kVectors = 2;
#endif

// One block of the result; kTail: the last vector is short and `mask` says which lanes count. kTransA: a is [k, m].
template <int kM, int kN, bool kTail, bool kTransA>
HWY_INLINE void block(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t k,
                      bool accumulate, hn::Mask<F> mask) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  V acc[kM][kN];
  const auto load = [&](const float* p, int v) HWY_ATTR {
    return kTail && v == kN - 1 ? hn::MaskedLoad(mask, F(), p + v * lanes) : hn::LoadU(F(), p + v * lanes);
  };
#pragma GCC unroll 16
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kN; ++v) acc[i][v] = accumulate ? load(c + i * ldc, v) : hn::Zero(F());
  for (int64_t p = 0; p < k; ++p) {
    V row[kN];
#pragma GCC unroll 4
    for (int v = 0; v < kN; ++v) row[v] = load(b + p * ldb, v);
#pragma GCC unroll 16
    for (int i = 0; i < kM; ++i) {
      const V x = hn::Set(F(), kTransA ? a[p * lda + i] : a[i * lda + p]);
#pragma GCC unroll 4
      for (int v = 0; v < kN; ++v) acc[i][v] = hn::MulAdd(x, row[v], acc[i][v]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kN; ++v) {
      float* to = c + i * ldc + v * lanes;
      if (kTail && v == kN - 1)
        hn::BlendedStore(acc[i][v], mask, F(), to);
      else
        hn::StoreU(acc[i][v], F(), to);
    }
}

template <int kM, bool kTransA>
HWY_INLINE void row_block(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t n,
                          int64_t k, bool accumulate) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  const hn::Mask<F> all = hn::FirstN(F(), hn::Lanes(F()));
  int64_t j = 0;
  for (; j + kVectors * lanes <= n; j += kVectors * lanes)
    block<kM, kVectors, false, kTransA>(a, lda, b + j, ldb, c + j, ldc, k, accumulate, all);
  for (; kVectors > 2 && j + 2 * lanes <= n; j += 2 * lanes)
    block<kM, 2, false, kTransA>(a, lda, b + j, ldb, c + j, ldc, k, accumulate, all);
  for (; j + lanes <= n; j += lanes) block<kM, 1, false, kTransA>(a, lda, b + j, ldb, c + j, ldc, k, accumulate, all);
  if (j < n)
    block<kM, 1, true, kTransA>(a, lda, b + j, ldb, c + j, ldc, k, accumulate,
                                hn::FirstN(F(), static_cast<size_t>(n - j)));
}

template <bool kTransA>
void gemm(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t m, int64_t n,
          int64_t k, bool accumulate) {
  const int64_t step = kTransA ? 1 : lda;
  int64_t i = 0;
  for (; i + kRows <= m; i += kRows)
    row_block<kRows, kTransA>(a + i * step, lda, b, ldb, c + i * ldc, ldc, n, k, accumulate);
  for (; i + 2 <= m; i += 2) row_block<2, kTransA>(a + i * step, lda, b, ldb, c + i * ldc, ldc, n, k, accumulate);
  for (; i < m; ++i) row_block<1, kTransA>(a + i * step, lda, b, ldb, c + i * ldc, ldc, n, k, accumulate);
}

void dots(const float* a, const float* b, int64_t ldb, float* c, int64_t n, int64_t k) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) {
    V s0 = hn::Zero(F()), s1 = s0, s2 = s0, s3 = s0;
    const float* p = b + j * ldb;
    int64_t i = 0;
    const auto step = [&](V x, auto load) HWY_ATTR {
      s0 = hn::MulAdd(x, load(p + i), s0);
      s1 = hn::MulAdd(x, load(p + ldb + i), s1);
      s2 = hn::MulAdd(x, load(p + 2 * ldb + i), s2);
      s3 = hn::MulAdd(x, load(p + 3 * ldb + i), s3);
    };
    for (; i + lanes <= k; i += lanes)
      step(hn::LoadU(F(), a + i), [](const float* q) HWY_ATTR { return hn::LoadU(F(), q); });
    if (i < k) {
      const auto mask = hn::FirstN(F(), static_cast<size_t>(k - i));
      step(hn::MaskedLoad(mask, F(), a + i), [mask](const float* q) HWY_ATTR { return hn::MaskedLoad(mask, F(), q); });
    }
    c[j] = hn::GetLane(hn::SumOfLanes(F(), s0));
    c[j + 1] = hn::GetLane(hn::SumOfLanes(F(), s1));
    c[j + 2] = hn::GetLane(hn::SumOfLanes(F(), s2));
    c[j + 3] = hn::GetLane(hn::SumOfLanes(F(), s3));
  }
  for (; j < n; ++j) {
    V s = hn::Zero(F());
    int64_t i = 0;
    for (; i + lanes <= k; i += lanes) s = hn::MulAdd(hn::LoadU(F(), a + i), hn::LoadU(F(), b + j * ldb + i), s);
    if (i < k) {
      const auto mask = hn::FirstN(F(), static_cast<size_t>(k - i));
      s = hn::MulAdd(hn::MaskedLoad(mask, F(), a + i), hn::MaskedLoad(mask, F(), b + j * ldb + i), s);
    }
    c[j] = hn::GetLane(hn::SumOfLanes(F(), s));
  }
}

void softcap(float* x, int64_t n, float cap) {
  const V c = splat(cap), inverse = splat(1 / cap);
  map1(x, x, n, [=](V v) HWY_ATTR { return hn::Mul(c, vtanh(hn::Mul(v, inverse))); });
}

bool online_softmax_update(float* s, int64_t n, int64_t m, float* top, float* sum, float* factor) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  const V low = splat(-std::numeric_limits<float>::infinity()), one = splat(1.0f);
  bool changed = false;
  for (int64_t j = 0; j < m; j += lanes) {
    const V before = hn::LoadU(F(), top + j);
    V m0 = before, m1 = before;
    int64_t t = 0;
    for (; t + 2 <= n; t += 2) {
      m0 = hn::Max(m0, hn::LoadU(F(), s + t * m + j));
      m1 = hn::Max(m1, hn::LoadU(F(), s + (t + 1) * m + j));
    }
    if (t < n) m0 = hn::Max(m0, hn::LoadU(F(), s + t * m + j));
    const V now = hn::Max(m0, m1);
    // Nothing visible so far: exp(-inf - 0) is the 0 that is wanted, where exp(-inf + inf) would not be a number.
    const V shift = hn::IfThenElse(hn::Eq(now, low), hn::Zero(F()), now);
    V a0 = hn::Zero(F()), a1 = a0;
    const auto weigh = [&](int64_t row) HWY_ATTR {
      const V x = hn::LoadU(F(), s + row * m + j);
      const V e = hn::IfThenElse(hn::Eq(x, low), hn::Zero(F()), vexp_normal(hn::Sub(x, shift)));
      hn::StoreU(e, F(), s + row * m + j);
      return e;
    };
    for (t = 0; t + 2 <= n; t += 2) {
      a0 = hn::Add(a0, weigh(t));
      a1 = hn::Add(a1, weigh(t + 1));
    }
    if (t < n) a0 = hn::Add(a0, weigh(t));
    const V f = hn::IfThenElse(hn::Eq(before, now), one,
                               hn::IfThenElse(hn::Eq(before, low), hn::Zero(F()), vexp_normal(hn::Sub(before, shift))));
    const V old = hn::LoadU(F(), sum + j);
    // What is not a number stays so, even where nothing was visible before.
    const V kept = hn::IfThenElse(hn::IsNaN(old), old, hn::Mul(old, f));
    hn::StoreU(hn::Add(kept, hn::Add(a0, a1)), F(), sum + j);
    hn::StoreU(now, F(), top + j);
    hn::StoreU(f, F(), factor + j);
    changed = changed || !hn::AllTrue(F(), hn::Eq(f, one));
  }
  return changed;
}

void round(float* x, int64_t n, float inverse, float low, float high, float step) {
  const V by = splat(inverse), least = splat(low), most = splat(high), each = splat(step);
  map1(x, x, n, [=](V v) HWY_ATTR { return hn::Mul(hn::Max(least, hn::Min(most, hn::Round(hn::Mul(v, by)))), each); });
}

void round_columns(float* s, int64_t n, int64_t m, const float* factor, float most) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  const V top = splat(most);
  for (int64_t j = 0; j < m; j += lanes) {
    const V by = hn::LoadU(F(), factor + j);
    for (int64_t t = 0; t < n; ++t) {
      const V x = hn::Mul(hn::LoadU(F(), s + t * m + j), by);
      hn::StoreU(hn::IfThenZeroElse(hn::IsNaN(x), hn::Min(top, hn::Round(x))), F(), s + t * m + j);
    }
  }
}

void add_masked(float* x, const float* y, int64_t n) {
  const V low = splat(-std::numeric_limits<float>::infinity());
  map2(x, y, x, n, [=](V a, V b) HWY_ATTR { return hn::IfThenElse(hn::Eq(b, low), low, hn::Add(a, b)); });
}

}  // namespace

const TileOps& tiles() {
  static constexpr TileOps kOps{gemm<false>,           gemm<true>, dots,          softcap,
                                online_softmax_update, round,      round_columns, add_masked};
  return kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
const TileOps& tile_ops(Isa isa) { return WOOTZ_BY_ISA(isa, tiles()); }
}  // namespace wootz::cpu
#endif
