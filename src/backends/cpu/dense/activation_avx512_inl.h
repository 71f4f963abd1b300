// Activations in AVX-512 for results that are rounded to BF16, right to 2^-12, or (kFine) FP32 and 8 bits, where 1e-6
// of the largest value still tells to which side of a step one falls. For files that are compiled for it.
#pragma once

#include <immintrin.h>

#include "backends/cpu/dense/activation.h"

namespace wootz::cpu {
namespace {

// 2^t for -100 <= t <= 120: a polynomial on half an octave to either side, of degree 3 (relative error 2^-13.7) or 5
// (2^-23). Smaller values, and products of them, would be denormal, which takes processors long.
template <bool kFine>
inline __m512 power_of_2(__m512 t) {
  const __m512 whole = _mm512_roundscale_ps(t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 r = _mm512_sub_ps(t, whole);
  const auto next = [r](__m512 p, float c) { return _mm512_fmadd_ps(p, r, _mm512_set1_ps(c)); };
  __m512 p;
  if constexpr (kFine) {
    p = next(_mm512_set1_ps(0.0013276471f), 0.009675541f);
    p = next(next(next(next(p, 0.05550713f), 0.2402212f), 0.69314694f), 1.0000001f);
  } else {
    p = next(next(next(_mm512_set1_ps(0.0551716f), 0.2426112f), 0.693261f), 0.9999281f);
  }
  return _mm512_scalef_ps(p, whole);
}

// The hardware's estimate, right to 2^-14, or after a step of Newton's method to 2^-23 (d below 2^125).
template <bool kFine>
inline __m512 reciprocal(__m512 d) {
  const __m512 y = _mm512_rcp14_ps(d);
  return kFine ? _mm512_mul_ps(y, _mm512_fnmadd_ps(d, y, _mm512_set1_ps(2))) : y;
}

// 1 / (1 + exp(-x)). NaN stays NaN.
template <bool kFine>
inline __m512 sigmoid(__m512 x) {
  const __m512 t = _mm512_mul_ps(x, _mm512_set1_ps(-1.44269504f));
  const __m512 e = power_of_2<kFine>(_mm512_min_ps(_mm512_set1_ps(120), _mm512_max_ps(_mm512_set1_ps(-100), t)));
  return reciprocal<kFine>(_mm512_add_ps(_mm512_set1_ps(1), e));
}

// x / 2 * (1 + erf(x / sqrt(2))) with erf(z) = 1 - (a t + ... + e t^5) exp(-z^2), t = 1 / (1 + p z), after Abramowitz
// and Stegun, Handbook of Mathematical Functions, 7.1.26.
inline __m512 coarse_gelu(__m512 x) {
  const __m512 z = _mm512_mul_ps(_mm512_abs_ps(x), _mm512_set1_ps(0.70710678f));
  const __m512 t = reciprocal<false>(_mm512_fmadd_ps(z, _mm512_set1_ps(0.3275911f), _mm512_set1_ps(1)));
  __m512 p = _mm512_fmadd_ps(t, _mm512_set1_ps(1.061405429f), _mm512_set1_ps(-1.453152027f));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(1.421413741f));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(-0.284496736f));
  p = _mm512_mul_ps(_mm512_fmadd_ps(p, t, _mm512_set1_ps(0.254829592f)), t);
  const __m512 power = _mm512_mul_ps(_mm512_mul_ps(z, z), _mm512_set1_ps(-1.44269504f));
  const __m512 e = power_of_2<false>(_mm512_max_ps(_mm512_set1_ps(-100), power));
  const __m512 half = _mm512_mul_ps(_mm512_mul_ps(p, _mm512_set1_ps(0.5f)), e);
  // The part of a normal distribution below x: `half` where x is negative, all but that elsewhere.
  const __mmask16 negative = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ);
  return _mm512_mul_ps(x, _mm512_mask_blend_ps(negative, _mm512_sub_ps(_mm512_set1_ps(1), half), half));
}

// See kFineGelu. NaN stays NaN.
inline __m512 fine_gelu(__m512 x) {
  const __m512 c = _mm512_min_ps(_mm512_set1_ps(5), _mm512_max_ps(_mm512_set1_ps(-5), x));
  const __m512 t = _mm512_fmadd_ps(_mm512_mul_ps(c, c), _mm512_set1_ps(0.08f), _mm512_set1_ps(-1));
  __m512 p = _mm512_set1_ps(kFineGelu[0]);
#pragma GCC unroll 16
  for (int i = 1; i < 13; ++i) p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(kFineGelu[i]));
  return _mm512_mul_ps(x, _mm512_fmadd_ps(c, p, _mm512_set1_ps(0.5f)));
}
template <bool kFine>
inline __m512 gelu(__m512 x) {
  return kFine ? fine_gelu(x) : coarse_gelu(x);
}

// kNone leaves x as it is.
template <Activation kActivation, bool kFine>
inline __m512 activate(__m512 x, float alpha, float beta) {
  if constexpr (kActivation == Activation::kSilu)
    return _mm512_mul_ps(x, sigmoid<kFine>(_mm512_mul_ps(x, _mm512_set1_ps(alpha))));
  if constexpr (kActivation == Activation::kSigmoid) return sigmoid<kFine>(x);
  if constexpr (kActivation == Activation::kGeluErf) return gelu<kFine>(x);
  if constexpr (kActivation == Activation::kGeluTanh) {
    const __m512 cubic = _mm512_fmadd_ps(_mm512_mul_ps(x, x), _mm512_set1_ps(0.0713548f), _mm512_set1_ps(1.5957691f));
    return _mm512_mul_ps(x, sigmoid<kFine>(_mm512_mul_ps(x, cubic)));
  }
  if constexpr (kActivation == Activation::kHardSigmoid || kActivation == Activation::kHardSwish) {
    const __m512 line = _mm512_fmadd_ps(x, _mm512_set1_ps(alpha), _mm512_set1_ps(beta));
    const __m512 gate = _mm512_min_ps(_mm512_set1_ps(1), _mm512_max_ps(_mm512_setzero_ps(), line));
    return kActivation == Activation::kHardSwish ? _mm512_mul_ps(x, gate) : gate;
  }
  return x;
}

}  // namespace
}  // namespace wootz::cpu
