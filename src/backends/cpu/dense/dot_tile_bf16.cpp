// The products of bf16_tile.h by AVX512-BF16, whose instruction adds two of them up.
#include <immintrin.h>

#include "backends/cpu/dense/activation_avx512_inl.h"
#include "backends/cpu/dense/bf16_tile.h"
#include "backends/cpu/simd/lanes_avx512_inl.h"

namespace wootz::cpu {
namespace {

__m512 widened(__m256i bf16) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16), 16)); }

__m512bh pair_of(const uint16_t* at) { return reinterpret_cast<__m512bh>(four_in_all(at)); }

template <Activation kActivation>
inline __m512 activated(const Bf16Tile& t, __m512 x) {
  if constexpr (kActivation != Activation::kNone) return activate<kActivation, false>(x, t.alpha, t.beta);
  // The second operand is kept when it is NaN.
  if (t.bounded) x = _mm512_min_ps(_mm512_set1_ps(t.high), _mm512_max_ps(_mm512_set1_ps(t.low), x));
  return x;
}

// What comes after the sums of a block of `rows` x `vectors`, which lie one after the other.
template <Activation kActivation>
void finish(const Bf16Tile& t, const float* sums, int64_t row, int rows, int vectors) {
  for (int i = 0; i < rows; ++i) {
    for (int v = 0; v < vectors; ++v, sums += kLanes) {
      const int64_t c = v * kLanes, at = (row + i) * t.out_stride + c;
      const __mmask16 mask = first_lanes(t.columns - c);
      __m512 x = _mm512_load_ps(sums), added = _mm512_setzero_ps();
      if (t.added != nullptr)
        added = t.added_is_bf16 ? widened(_mm256_maskz_loadu_epi16(mask, static_cast<const uint16_t*>(t.added) + at))
                                : _mm512_maskz_loadu_ps(mask, static_cast<const float*>(t.added) + at);
      if (t.added != nullptr && !t.added_last) x = _mm512_add_ps(x, added);
      x = activated<kActivation>(t, x);
      if (t.added_last) x = _mm512_add_ps(x, added);
      if (t.out_is_bf16)
        _mm256_mask_storeu_epi16(static_cast<uint16_t*>(t.out) + at, mask,
                                 reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
      else
        _mm512_mask_storeu_ps(static_cast<float*>(t.out) + at, mask, x);
    }
  }
}

using Finish = void (*)(const Bf16Tile& t, const float* sums, int64_t row, int rows, int vectors);
Finish finish_of(Activation activation) {
  switch (activation) {
    case Activation::kSilu: return finish<Activation::kSilu>;
    case Activation::kSigmoid: return finish<Activation::kSigmoid>;
    case Activation::kGeluErf: return finish<Activation::kGeluErf>;
    case Activation::kGeluTanh: return finish<Activation::kGeluTanh>;
    case Activation::kHardSigmoid: return finish<Activation::kHardSigmoid>;
    case Activation::kHardSwish: return finish<Activation::kHardSwish>;
    case Activation::kNone: break;
  }
  return finish<Activation::kNone>;
}

// kM rows and kN vectors of the result: the sums stay in registers while everything that touches them is unrolled.
template <int kM, int kN>
void block(const Bf16Tile& t, int64_t row) {
  __m512 acc[kM][kN];
#pragma GCC unroll 4
  for (int v = 0; v < kN; ++v) {
    const int64_t c = v * kLanes;
    const __m512 start =
        t.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(first_lanes(t.columns - c), t.bias + c);
#pragma GCC unroll 8
    for (int i = 0; i < kM; ++i) acc[i][v] = t.accumulate ? _mm512_loadu_ps(t.sums + (row + i) * t.stride + c) : start;
  }
  const uint16_t* w = t.weights;
  for (int64_t tap = 0; tap < t.num_taps; ++tap) {
    const uint16_t* a[kM];
#pragma GCC unroll 8
    for (int i = 0; i < kM; ++i) a[i] = t.taps[tap * t.tap_stride + row + i] + t.first;
    const auto add = [&](auto value) {
      __m512bh b[kN];
#pragma GCC unroll 4
      for (int v = 0; v < kN; ++v) b[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(w + 2 * v * kLanes));
      w += 2 * kN * kLanes;
#pragma GCC unroll 8
      for (int i = 0; i < kM; ++i) {
        const __m512bh x = value(a[i]);
#pragma GCC unroll 4
        for (int v = 0; v < kN; ++v) acc[i][v] = _mm512_dpbf16_ps(acc[i][v], x, b[v]);
      }
    };
    int64_t e = 0;
    for (; e + 2 <= t.length; e += 2) add([e](const uint16_t* from) { return pair_of(from + e); });
    if (e < t.length) add([e](const uint16_t* from) { return reinterpret_cast<__m512bh>(_mm512_set1_epi32(from[e])); });
  }
  // What follows has registers of its own to take.
  alignas(64) float done[kM * kN * kLanes];
  float* const to = t.finish ? done : t.sums + row * t.stride;
  const int64_t stride = t.finish ? kN * kLanes : t.stride;
#pragma GCC unroll 8
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kN; ++v) _mm512_storeu_ps(to + i * stride + v * kLanes, acc[i][v]);
  if (t.finish) finish_of(t.activation)(t, done, row, kM, kN);
}

// As many rows as registers hold sums and addresses of.
template <int kN>
void all_rows(const Bf16Tile& t, int64_t rows) {
  constexpr int kRows = kN > 2 ? 6 : 8;
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) block<kRows, kN>(t, i);
  for (; i + 4 <= rows; i += 4) block<4, kN>(t, i);
  for (; i + 2 <= rows; i += 2) block<2, kN>(t, i);
  for (; i < rows; ++i) block<1, kN>(t, i);
}

void tile(const Bf16Tile& t, int64_t rows) {
  switch (t.wide / kLanes) {
    case 1: return all_rows<1>(t, rows);
    case 2: return all_rows<2>(t, rows);
    case 3: return all_rows<3>(t, rows);
    default: return all_rows<4>(t, rows);
  }
}

void widen(const uint16_t* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const __mmask16 mask = first_lanes(n - i);
    _mm512_mask_storeu_ps(to + i, mask, widened(_mm256_maskz_loadu_epi16(mask, from + i)));
  }
}

}  // namespace

const Bf16Ops kBf16DotOps{{.panel = kBf16Panel, .rows = 6, .unit_rows = 192, .part = 512, .step = 2}, tile, widen};

}  // namespace wootz::cpu
