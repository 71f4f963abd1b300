// The scalar operations of base/pointwise.def that are no operator of the language.
#pragma once
#include "backends/cuda/kernels/common/types.cuh"

template <class T>
W_FN T w_add(T a, T b) {
  if constexpr (IsF<T>::v)
    return a + b;
  else
    return (T)((u64)a + (u64)b);
}

template <class T>
W_FN T w_sub(T a, T b) {
  if constexpr (IsF<T>::v)
    return a - b;
  else
    return (T)((u64)a - (u64)b);
}

template <class T>
W_FN T w_mul(T a, T b) {
  if constexpr (IsF<T>::v)
    return a * b;
  else
    return (T)((u64)a * (u64)b);
}

template <class T>
W_FN T w_neg(T a) {
  if constexpr (IsF<T>::v)
    return -a;
  else
    return (T)(0 - (u64)a);
}

template <class T>
W_FN T w_div(T a, T b) {
  if constexpr (IsF<T>::v)
    return a / b;
  else {
    if (b == 0) return 0;
    if (b == (T)-1 && (T)-1 < 0) return w_neg(a);
    return (T)(a / b);
  }
}

template <class T>
W_FN T w_fmod(T a, T b) {
  if constexpr (sizeof(T) == 4 && IsF<T>::v)
    return fmodf(a, b);
  else if constexpr (IsF<T>::v)
    return fmod(a, b);
  else {
    if (b == 0 || (b == (T)-1 && (T)-1 < 0)) return 0;
    return (T)(a % b);
  }
}

template <class T>
W_FN T w_mod(T a, T b) {
  const T r = w_fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;
}

template <class T>
W_FN T w_min(T a, T b) {
  if (a != a || b != b) return a != a ? a : b;
  return b < a ? b : a;
}

template <class T>
W_FN T w_max(T a, T b) {
  if (a != a || b != b) return a != a ? a : b;
  return a < b ? b : a;
}

#ifndef WOOTZ_ON_HOST

template <>
W_M float w_min<float>(float a, float b) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}

template <>
W_M float w_max<float>(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
#endif

template <class T>
W_FN T w_pow(T a, T b) {
  if constexpr (sizeof(T) == 4 && IsF<T>::v)
    return powf(a, b);
  else if constexpr (IsF<T>::v)
    return pow(a, b);
  else {
    if (b < 0) return a == 1 ? 1 : a == (T)-1 ? (T)(b % 2 != 0 ? -1 : 1) : 0;
    u64 r = 1, base = (u64)a;
    for (u64 e = (u64)b; e != 0; e >>= 1, base *= base)
      if (e & 1) r *= base;
    return (T)r;
  }
}

template <class T>
W_FN T w_shl(T a, T b) {
  return (u64)b >= sizeof(T) * 8 ? (T)0 : (T)((u64)a << b);
}

template <class T>
W_FN T w_shr(T a, T b) {
  const bool far = (u64)b >= sizeof(T) * 8;
  if ((T)-1 < 0) return (T)((s64)a >> (far ? 63 : (int)b));
  return far ? (T)0 : (T)((u64)a >> b);
}

template <class T>
W_FN T w_prelu(T a, T b) {
  return a < 0 ? w_mul(a, b) : a;
}

template <class T>
W_FN T w_abs(T a) {
  if constexpr (IsF<T>::v)
    return fabs(a);
  else
    return a < 0 ? w_neg(a) : a;
}

template <class T>
W_FN T w_not(T a) {
  return (T)~a;
}

template <>
W_M bool w_not<bool>(bool a) {
  return !a;
}

template <class T>
W_FN T w_sign(T a) {
  return a > 0 ? (T)1 : a < 0 ? (T)-1 : a;
}

template <class T>
W_FN T w_relu(T a) {
  return a < 0 ? (T)0 : a;
}
#ifndef WOOTZ_ON_HOST
// One instruction in place of a comparison and a choice.
template <>
W_M float w_relu<float>(float a) {
  return w_max(a, 0.0f);
}
#endif

template <class T>
W_FN T w_clip(T a, T low, T high) {
  if (a < low) a = low;
  return a > high ? high : a;
}

W_FN s64 w_f2ll(double v) {
  return v != v                        ? 0
         : v >= 9223372036854775808.0  ? (s64)((1ULL << 63) - 1)
         : v <= -9223372036854775808.0 ? (s64)(1ULL << 63)
                                       : (s64)v;
}

W_FN float w_short2f(int v);

template <class To, class From>
W_FN To w_cast(From v) {
  if constexpr (sizeof(To) == 4 && IsF<To>::v && sizeof(From) == 1 && (From)2 != (From)1)
    return w_short2f(v);
  else if constexpr (IsF<To>::v)
    return (To)v;
  else if constexpr (sizeof(To) == 1 && (To)2 == (To)1)
    return v != 0;
  else if constexpr (!IsF<From>::v)
    return (To)v;
  else if constexpr (sizeof(To) == 8 && !((To)-1 < 0))
    return v != v ? 0 : v >= 18446744073709551616.0 ? ~0ULL : v >= 9223372036854775808.0 ? (u64)v : (u64)w_f2ll(v);
  else
    return (To)w_f2ll(v);
}

template <class To, class From>
W_FN To w_sat(From v) {
  if constexpr (IsF<From>::v) {
    if constexpr (sizeof(To) == 8 && !((To)-1 < 0))
      return v > 0 ? w_cast<To>(v) : 0;
    else {
      const s64 i = w_f2ll(v);
      return (To)(i < Lim<To>::lo ? Lim<To>::lo : i > Lim<To>::hi ? Lim<To>::hi : i);
    }
  } else if constexpr (sizeof(From) == 8 && !((From)-1 < 0)) {
    if constexpr (sizeof(To) == 8 && !((To)-1 < 0))
      return v;
    else
      return v > (u64)Lim<To>::hi ? (To)Lim<To>::hi : (To)v;
  } else {
    const s64 i = (s64)v;
    return (To)(i < Lim<To>::lo ? Lim<To>::lo : i > Lim<To>::hi ? Lim<To>::hi : i);
  }
}

template <class T>
W_FN typename Reg<T>::t w_round_to(float v) {
  return w_get(Put<T>::to(v));
}

// Integers of less than 22 bits to floats and back by additions: a conversion instruction takes as long as four to
// eight. The sum of one and this is a float whose lowest bits are the integer, rounded to even.
constexpr float kIntegersFrom = 12582912.0f;  // 3 * 2^22
W_FN float w_short2f(int v) { return w_bits2f(0x4B400000u + (u32)v) - kIntegersFrom; }

// Byte k of words.
template <class T, int N>
W_FN T w_byte(const Pack<u32, N>& words, int k) {
  return (T)(words.v[k / 4] >> k % 4 * 8);
}

// 1 / b as a float and what it lacks.
struct Inverse {
  float of, rest;
};
W_FN Inverse w_inverse(float b) {
  const float of = 1.0f / b;
  return {of, w_times(fmaf(-b, of, 1.0f), of)};
}

// By a b that is_ordinary_scale(), without a branch. What is outside of To is cut off ahead of the division. The sum is
// a / b but for 2 to the -46th of it, and then rounded: to the same side of a half as a / b, for every such b, of which
// all significands were compared next to all halves up to 255.5.
template <class To>
W_FN To w_quantize_by(float a, float b, float c) {
  const float low = ((float)Lim<To>::lo - c) * b, high = ((float)Lim<To>::hi - c) * b;
  const Inverse inverse = w_inverse(b);
  const float inside = a != a ? -c * b : fminf(fmaxf(a, low), high);
  const float quotient = fmaf(inside, inverse.of, w_times(inside, inverse.rest));
  return (To)(w_f2bits(quotient + kIntegersFrom) + (u32)(int)c);
}

// a / b, + 0 with PLUS: by 1 / b as a float that is not above it, and what that lacks. On the same side of each half up
// to 15.5, times any power of two, as a / b itself, for a b that has_even_inverse().
template <bool PLUS>
W_FN float w_quotient_by(float a, float inverse, float lacks) {
  if (lacks == 0) return PLUS ? fmaf(a, inverse, 0.0f) : w_times(a, inverse);  // an infinity stays one
  return fmaf(a, inverse, PLUS ? fmaf(a, lacks, 0.0f) : w_times(a, lacks));
}

// As w_quantize_by(), of relu(a) to the zero point 0: as a fraction of one more than the largest, which an instruction
// cuts off below 0, as it does what is no number.
template <class To>
W_FN To w_quantize_positive_by(float a, float b) {
  constexpr float kParts = (float)Lim<To>::hi + 1.0f;
  const Inverse inverse = w_inverse(b);
  const float low = w_least(a, (float)Lim<To>::hi * b), rest = w_times(low, inverse.rest / kParts);
  return (To)w_f2bits(fmaf(w_fraction(low, inverse.of / kParts, rest), kParts, kIntegersFrom));
}

template <class To>
W_FN To w_quantize(float a, float b, float c) {
  if constexpr (sizeof(To) == 1) {
    // A product with 1 / b is the quotient to within 1e-3 wherever that is in range, and rounds alike unless it lies
    // next to a half: only there, and where it is no number, is the quotient itself needed. The rest is exact in float.
    const float low = (float)Lim<To>::lo - c, high = (float)Lim<To>::hi - c, near = a * (1.0f / b);
    float inside = w_clip<float>(near, low, high), sum = inside + kIntegersFrom;
    if (!(fabsf(fabsf(inside - (sum - kIntegersFrom)) - 0.5f) >= 1e-3f)) {
      const float q = a / b;
      if (q != q) return 0;
      sum = w_clip<float>(rintf(q), low, high) + kIntegersFrom;
    }
    return (To)(w_f2bits(sum) + (u32)(int)c);
  }
  const float q = a / b;
  return q != q ? (To)0 : w_sat<To>((double)rintf(q) + (double)c);
}

#define W_UNARY(name, one, two)               \
  W_FN float name(float a) { return one(a); } \
  W_FN double name(double a) { return two(a); }
W_UNARY(w_sqrt, sqrtf, sqrt)
W_UNARY(w_exp, expf, exp)
W_UNARY(w_log, logf, log)
W_UNARY(w_sin, sinf, sin)
W_UNARY(w_cos, cosf, cos)
W_UNARY(w_tan, tanf, tan)
W_UNARY(w_asin, asinf, asin)
W_UNARY(w_acos, acosf, acos)
W_UNARY(w_atan, atanf, atan)
W_UNARY(w_sinh, sinhf, sinh)
W_UNARY(w_cosh, coshf, cosh)
W_UNARY(w_asinh, asinhf, asinh)
W_UNARY(w_acosh, acoshf, acosh)
W_UNARY(w_atanh, atanhf, atanh)
W_UNARY(w_erf, erff, erf)
W_UNARY(w_ceil, ceilf, ceil)
W_UNARY(w_floor, floorf, floor)
W_UNARY(w_rint, rintf, rint)
W_UNARY(w_tanh, tanhf, tanh)
W_UNARY(w_expm1, expm1f, expm1)
W_UNARY(w_log1p, log1pf, log1p)
W_UNARY(w_erfc, erfcf, erfc)

// 1 / x to within a unit in the last place, without the branch that a division has for what is outside of its range: 0
// where that is below 2 to the -126th. 2 to the x to within two units.
#ifdef WOOTZ_ON_HOST
W_FN float w_inverse_near(float x) { return 1.0f / x; }
W_FN float w_exp2_near(float x) { return exp2f(x); }
#else
W_FN float w_inverse_near(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
W_FN float w_exp2_near(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
#endif

// Below -88 the exponential is infinite, and the result 0.
W_FN float w_sigmoid(float x) { return w_inverse_near(1.0f + w_exp(-x)); }
W_FN double w_sigmoid(double x) {
  if (x >= 0) return 1 / (1 + w_exp(-x));
  const double e = w_exp(x);
  return e / (1 + e);
}

template <class T>
W_FN T w_softplus(T x) {
  return (x > 0 ? x : (x != x ? x : (T)0)) + w_log1p(w_exp(-w_abs(x)));
}

template <class T>
W_FN T w_gelu_erf(T a) {
  return (T)0.5 * a * w_erfc(-a * (T)0.70710678118654752440);
}

template <class T>
W_FN T w_gelu_tanh(T a) {
  return (T)0.5 * a * ((T)1 + w_tanh((T)0.79788456080286535588 * (a + (T)0.044715 * a * a * a)));
}

template <class T>
W_FN T w_silu(T a, T k) {
  return a * w_sigmoid(k * a);
}

template <class T>
W_FN T w_hard_swish(T a) {
  return a * w_clip(a * (T)(1.0 / 6) + (T)0.5, (T)0, (T)1);
}

template <class T>
W_FN T w_mish(T a) {
  return a * w_tanh(w_softplus(a));
}

template <class T>
W_FN T w_elu(T a, T k) {
  return a < 0 ? k * w_expm1(a) : a;
}

template <class T>
W_FN T w_celu(T a, T k) {
  return a < 0 ? k * w_expm1(a / k) : a;
}

template <class T>
W_FN T w_shrink(T a, T l, T b) {
  return a < -l ? a + b : a > l ? a - b : a != a ? a : (T)0;
}

template <class T>
W_FN bool w_isinf(T a, bool low, bool high) {
  return (a == (T)W_INF && high) || (a == -(T)W_INF && low);
}

// As a float, if it is none.
template <class T>
W_FN auto w_real(T a) {
  if constexpr (IsF<T>::v)
    return a;
  else
    return (double)a;
}
