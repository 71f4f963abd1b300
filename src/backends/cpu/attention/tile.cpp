#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention/tile.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/attention/tile.h"
#include "backends/cpu/pointwise/loop_inl.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

// The accumulators of kRows x kVectors vectors stay in registers: 12 of 16, or 24 of 32.
#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 12, kVectors = 2;
#else
constexpr int kRows = 6, kVectors = 2;
#endif

// One block of the product; kTail: the last vector is short and `mask` says which lanes count.
template <int kM, int kN, bool kTail>
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
      const V x = hn::Set(F(), a[i * lda + p]);
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

template <int kM>
HWY_INLINE void row_block(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t n,
                          int64_t k, bool accumulate) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  const hn::Mask<F> all = hn::FirstN(F(), hn::Lanes(F()));
  int64_t j = 0;
  for (; j + kVectors * lanes <= n; j += kVectors * lanes)
    block<kM, kVectors, false>(a, lda, b + j, ldb, c + j, ldc, k, accumulate, all);
  for (; j + lanes <= n; j += lanes) block<kM, 1, false>(a, lda, b + j, ldb, c + j, ldc, k, accumulate, all);
  if (j < n)
    block<kM, 1, true>(a, lda, b + j, ldb, c + j, ldc, k, accumulate, hn::FirstN(F(), static_cast<size_t>(n - j)));
}

void multiply(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t m, int64_t n,
              int64_t k, bool accumulate) {
  int64_t i = 0;
  for (; i + kRows <= m; i += kRows) row_block<kRows>(a + i * lda, lda, b, ldb, c + i * ldc, ldc, n, k, accumulate);
  for (; i + 4 <= m; i += 4) row_block<4>(a + i * lda, lda, b, ldb, c + i * ldc, ldc, n, k, accumulate);
  for (; i < m; ++i) row_block<1>(a + i * lda, lda, b, ldb, c + i * ldc, ldc, n, k, accumulate);
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

}  // namespace

const TileOps& tiles() {
  static constexpr TileOps kOps{multiply, dots, softcap};
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
