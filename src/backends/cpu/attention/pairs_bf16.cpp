#include <immintrin.h>

#include "backends/cpu/attention/pairs.h"
#include "backends/cpu/simd/lanes_avx512_inl.h"

namespace wootz::cpu {
namespace {

constexpr int kRows = 6, kVectors = 4;  // sums: 24 of 32 registers

__m512bh pair_of(const uint16_t* at) { return reinterpret_cast<__m512bh>(four_in_all(at)); }

struct Block {
  const uint16_t *a, *b;
  float* c;
  int64_t lda, ldb, ldc, pairs;
  bool accumulate;
};

// kM rows and kN vectors of the result, of the last of which `mask` is computed. kTransA: pairs of a lie side by side.
template <int kM, int kN, bool kTransA>
void block(const Block& t, __mmask16 mask) {
  __m512 acc[kM][kN];
  const auto mask_of = [mask](int v) { return v == kN - 1 ? mask : static_cast<__mmask16>(0xffff); };
#pragma GCC unroll 6
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kN; ++v)
      acc[i][v] = t.accumulate ? _mm512_maskz_loadu_ps(mask_of(v), t.c + i * t.ldc + v * kLanes) : _mm512_setzero_ps();
  for (int64_t p = 0; p < t.pairs; ++p) {
    __m512bh row[kN];
#pragma GCC unroll 4
    for (int v = 0; v < kN; ++v)
      row[v] = reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi32(mask_of(v), t.b + p * t.ldb + 2 * v * kLanes));
#pragma GCC unroll 6
    for (int i = 0; i < kM; ++i) {
      const __m512bh x = pair_of(kTransA ? t.a + p * t.lda + 2 * i : t.a + i * t.lda + 2 * p);
#pragma GCC unroll 4
      for (int v = 0; v < kN; ++v) acc[i][v] = _mm512_dpbf16_ps(acc[i][v], x, row[v]);
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kN; ++v) _mm512_mask_storeu_ps(t.c + i * t.ldc + v * kLanes, mask_of(v), acc[i][v]);
}

template <int kM, bool kTransA>
void all_columns(Block t, int64_t n) {
  const auto advance = [&](int vectors) {
    t.b += 2 * vectors * kLanes;
    t.c += vectors * kLanes;
    n -= vectors * kLanes;
  };
  for (; n >= kVectors * kLanes; advance(kVectors)) block<kM, kVectors, kTransA>(t, 0xffff);
  for (; n > kLanes; advance(2)) block<kM, 2, kTransA>(t, first_lanes(n - kLanes));
  if (n > 0) block<kM, 1, kTransA>(t, first_lanes(n));
}

template <bool kTransA>
void multiply(const uint16_t* a, int64_t lda, const uint16_t* b, int64_t ldb, float* c, int64_t ldc, int64_t m,
              int64_t n, int64_t pairs, bool accumulate) {
  const int64_t step = kTransA ? 2 : lda;
  const auto at = [&](int64_t i) { return Block{a + i * step, b, c + i * ldc, lda, ldb, ldc, pairs, accumulate}; };
  int64_t i = 0;
  for (; i + kRows <= m; i += kRows) all_columns<kRows, kTransA>(at(i), n);
  for (; i + 2 <= m; i += 2) all_columns<2, kTransA>(at(i), n);
  for (; i < m; ++i) all_columns<1, kTransA>(at(i), n);
}

// 16 elements in the lower halves of 32 bits.
__m512i bits_of(const uint16_t* from, __mmask16 mask) {
  return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
}
__m512i bits_of(const float* from, __mmask16 mask) {
  return _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from))));
}

template <class T>
void join(const T* from, int64_t stride, int64_t n, int64_t m, uint16_t* to) {
  for (int64_t i = 0; i < n; i += 2, to += 2 * m) {
    const T *low = from + i * stride, *high = low + stride;
    for (int64_t j = 0; j < m; j += kLanes) {
      const __mmask16 mask = first_lanes(m - j);
      __m512i both = bits_of(low + j, mask);
      if (i + 1 < n) both = _mm512_or_si512(both, _mm512_slli_epi32(bits_of(high + j, mask), 16));
      _mm512_mask_storeu_epi32(to + 2 * j, mask, both);
    }
  }
}

}  // namespace

const PairOps kPairOps{multiply<false>, multiply<true>, join<uint16_t>, join<float>};

}  // namespace wootz::cpu
