// What every generated kernel begins with: element types, conversions, and the scalar operations of base/pointwise.def.
#include "backends/cuda/generate/source.h"

namespace wootz::cuda {
namespace {

constexpr const char* kTypes = R"(
typedef signed char s8; typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32;
typedef long long s64; typedef unsigned long long u64;
struct f16 { u16 x; }; struct bf16 { u16 x; }; struct b8 { u8 x; };
#ifndef WOOTZ_ON_HOST
#define W_FN __device__ __forceinline__
#define W_M __device__ __forceinline__
W_FN float w_h2f(u16 h) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f; }
W_FN u16 w_f2h(float f) { u16 h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h; }
W_FN float w_bits2f(u32 b) { return __uint_as_float(b); }
W_FN u32 w_f2bits(float f) { return __float_as_uint(f); }
W_FN u64 w_d2bits(double d) { return (u64)__double_as_longlong(d); }
#define W_INF __int_as_float(0x7f800000)
#define W_NAN __int_as_float(0x7fffffff)
#endif
W_FN float w_b2f(u16 b) { return w_bits2f((u32)b << 16); }
W_FN u16 w_f2b(float f) {
  const u32 b = w_f2bits(f);
  if (f != f) return (u16)((b >> 16) | 0x40);
  return (u16)((b + 0x7fff + ((b >> 16) & 1)) >> 16);
}
template <class T> struct Reg { typedef T t; };
template <> struct Reg<f16> { typedef float t; };
template <> struct Reg<bf16> { typedef float t; };
template <> struct Reg<b8> { typedef bool t; };
template <class T> W_FN T w_get(T v) { return v; }
W_FN float w_get(f16 v) { return w_h2f(v.x); }
W_FN float w_get(bf16 v) { return w_b2f(v.x); }
W_FN bool w_get(b8 v) { return v.x != 0; }
template <class T> struct Put { static W_M T to(typename Reg<T>::t v) { return v; } };
template <> struct Put<f16> { static W_M f16 to(float v) { f16 r; r.x = w_f2h(v); return r; } };
template <> struct Put<bf16> { static W_M bf16 to(float v) { bf16 r; r.x = w_f2b(v); return r; } };
template <> struct Put<b8> { static W_M b8 to(bool v) { b8 r; r.x = v; return r; } };
// Floats of 8 and 4 bits, bit for bit as base/half.h has them. KIND: what lies above the largest value is a NaN (0) or
// an infinity (1), the only NaN is where -0 would be (2), or there is none (3).
template <int E, int M, int B, int MAX, int KIND> struct Small {
  u8 x;
  static W_M u8 code(float v, bool saturate) {
    const int total = E + M;
    const u32 bits = w_f2bits(v), sign = bits >> 31 << total, size = bits & 0x7fffffffu;
    if (v != v) return (u8)(KIND == 3 ? 1 << total : KIND == 2 ? 0x80 : sign | ((1 << total) - 1));
    u32 c;
    if (size < (u32)(128 - B) << 23)  // below the normal ones: in steps of the smallest
      c = (u32)(int)rintf(w_bits2f(size) * w_bits2f((u32)(126 + B + M) << 23));
    else
      c = ((size + ((1u << (22 - M)) - 1) + (size >> (23 - M) & 1)) >> (23 - M)) - ((u32)(127 - B) << M);
    if (c > MAX) {
      if (saturate || KIND == 3) return (u8)(sign | MAX);
      return (u8)(KIND == 1 ? sign | (((1 << E) - 1) << M) : KIND == 2 ? 0x80 : sign | ((1 << total) - 1));
    }
    return (u8)(KIND == 2 && c == 0 ? 0 : sign | c);
  }
  W_M float value() const {
    const int total = E + M;
    const u32 size = x & ((1u << total) - 1);
    const bool negative = x >> total & 1;
    if (KIND == 2 ? negative && size == 0 : KIND == 3 ? false : KIND == 0 ? size == (1u << total) - 1 : size > ((1u << E) - 1) << M) return W_NAN;
    // The exponent's bias by one exact product, also for those below the normal ones.
    const float v = KIND == 1 && size == ((1u << E) - 1) << M ? W_INF : w_bits2f(size << (23 - M)) * w_bits2f((u32)(254 - B) << 23);
    return negative ? -v : v;
  }
};
typedef Small<4, 3, 7, 0x7e, 0> f8e4m3; typedef Small<4, 3, 8, 0x7f, 2> f8e4m3fnuz; typedef Small<5, 2, 15, 0x7b, 1> f8e5m2;
typedef Small<5, 2, 16, 0x7f, 2> f8e5m2fnuz; typedef Small<2, 1, 1, 7, 3> f4e2m1;
struct f8e8m0 {  // a power of two
  u8 x;
  static W_M u8 code(float v, bool saturate) {
    if (!(v > 0)) return v != v ? 255 : 0;
    const int e = v == W_INF ? 255 : (int)rintf((float)log2((double)v)) + 127;
    return (u8)(e < 0 ? 0 : e > 254 ? (saturate ? 254 : 255) : e);
  }
  W_M float value() const { return x == 255 ? W_NAN : w_bits2f(x == 0 ? 0x400000u : (u32)x << 23); }
};
template <int E, int M, int B, int MAX, int K> struct Reg<Small<E, M, B, MAX, K>> { typedef float t; };
template <> struct Reg<f8e8m0> { typedef float t; };
template <int E, int M, int B, int MAX, int K> W_FN float w_get(Small<E, M, B, MAX, K> v) { return v.value(); }
W_FN float w_get(f8e8m0 v) { return v.value(); }
template <class T> W_FN T w_small(float v, bool saturate) { T r; r.x = T::code(v, saturate); return r; }
// Stored, what is too large becomes the largest; infinity stays where there is one.
template <int E, int M, int B, int MAX, int K> struct Put<Small<E, M, B, MAX, K>> {
  static W_M Small<E, M, B, MAX, K> to(float v) { return w_small<Small<E, M, B, MAX, K>>(v, K != 1 || fabsf(v) != W_INF); }
};
template <> struct Put<f8e8m0> { static W_M f8e8m0 to(float v) { return w_small<f8e8m0>(v, true); } };
// Elements of 4 and 2 bits lie together in bytes, the first one lowest.
template <int BITS> W_FN u32 w_bits_at(const u8* x, u64 i) { return x[i * BITS / 8] >> (int)(i % (8 / BITS) * BITS) & ((1u << BITS) - 1); }
template <int BITS> W_FN s8 w_low_signed(u32 v) { return (s8)((int)(v << (32 - BITS)) >> (32 - BITS)); }
template <int BITS> W_FN u8 w_low(u32 v) { return (u8)(v & ((1u << BITS) - 1)); }
W_FN float w_f4(u32 v) { f4e2m1 r; r.x = (u8)v; return r.value(); }
template <class T, int N> struct alignas(sizeof(T) * N) Pack { T v[N]; };
template <class T> struct IsF { static const bool v = false; };
template <> struct IsF<float> { static const bool v = true; };
template <> struct IsF<double> { static const bool v = true; };
template <class T> struct Lim;
template <> struct Lim<bool> { static const u64 lo = 0, hi = 1; };
template <> struct Lim<s8> { static const s64 lo = -128, hi = 127; };
template <> struct Lim<u8> { static const s64 lo = 0, hi = 255; };
template <> struct Lim<short> { static const s64 lo = -32768, hi = 32767; };
template <> struct Lim<u16> { static const s64 lo = 0, hi = 65535; };
template <> struct Lim<int> { static const s64 lo = -2147483648LL, hi = 2147483647LL; };
template <> struct Lim<u32> { static const s64 lo = 0, hi = 4294967295LL; };
template <> struct Lim<s64> { static const s64 lo = (s64)(1ULL << 63), hi = (s64)((1ULL << 63) - 1); };
template <> struct Lim<u64> { static const s64 lo = 0, hi = (s64)((1ULL << 63) - 1); };
)";

constexpr const char* kOps = R"(
template <class T> W_FN T w_add(T a, T b) { if constexpr (IsF<T>::v) return a + b; else return (T)((u64)a + (u64)b); }
template <class T> W_FN T w_sub(T a, T b) { if constexpr (IsF<T>::v) return a - b; else return (T)((u64)a - (u64)b); }
template <class T> W_FN T w_mul(T a, T b) { if constexpr (IsF<T>::v) return a * b; else return (T)((u64)a * (u64)b); }
template <class T> W_FN T w_neg(T a) { if constexpr (IsF<T>::v) return -a; else return (T)(0 - (u64)a); }
template <class T> W_FN T w_div(T a, T b) {
  if constexpr (IsF<T>::v) return a / b;
  else { if (b == 0) return 0; if (b == (T)-1 && (T)-1 < 0) return w_neg(a); return (T)(a / b); }
}
template <class T> W_FN T w_fmod(T a, T b) {
  if constexpr (sizeof(T) == 4 && IsF<T>::v) return fmodf(a, b);
  else if constexpr (IsF<T>::v) return fmod(a, b);
  else { if (b == 0 || (b == (T)-1 && (T)-1 < 0)) return 0; return (T)(a % b); }
}
template <class T> W_FN T w_mod(T a, T b) { const T r = w_fmod(a, b); return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r; }
template <class T> W_FN T w_min(T a, T b) { if (a != a || b != b) return a != a ? a : b; return b < a ? b : a; }
template <class T> W_FN T w_max(T a, T b) { if (a != a || b != b) return a != a ? a : b; return a < b ? b : a; }
#ifndef WOOTZ_ON_HOST
template <> W_M float w_min<float>(float a, float b) { float r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
template <> W_M float w_max<float>(float a, float b) { float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
#endif
template <class T> W_FN T w_pow(T a, T b) {
  if constexpr (sizeof(T) == 4 && IsF<T>::v) return powf(a, b);
  else if constexpr (IsF<T>::v) return pow(a, b);
  else {
    if (b < 0) return a == 1 ? 1 : a == (T)-1 ? (T)(b % 2 != 0 ? -1 : 1) : 0;
    u64 r = 1, base = (u64)a;
    for (u64 e = (u64)b; e != 0; e >>= 1, base *= base) if (e & 1) r *= base;
    return (T)r;
  }
}
template <class T> W_FN T w_shl(T a, T b) { return (u64)b >= sizeof(T) * 8 ? (T)0 : (T)((u64)a << b); }
template <class T> W_FN T w_shr(T a, T b) {
  const bool far = (u64)b >= sizeof(T) * 8;
  if ((T)-1 < 0) return (T)((s64)a >> (far ? 63 : (int)b));
  return far ? (T)0 : (T)((u64)a >> b);
}
template <class T> W_FN T w_prelu(T a, T b) { return a < 0 ? w_mul(a, b) : a; }
template <class T> W_FN T w_abs(T a) { if constexpr (IsF<T>::v) return fabs(a); else return a < 0 ? w_neg(a) : a; }
template <class T> W_FN T w_not(T a) { return (T)~a; }
template <> W_M bool w_not<bool>(bool a) { return !a; }
template <class T> W_FN T w_sign(T a) { return a > 0 ? (T)1 : a < 0 ? (T)-1 : a; }
template <class T> W_FN T w_relu(T a) { return a < 0 ? (T)0 : a; }
template <class T> W_FN T w_clip(T a, T low, T high) { if (a < low) a = low; return a > high ? high : a; }
W_FN s64 w_f2ll(double v) { return v != v ? 0 : v >= 9223372036854775808.0 ? (s64)((1ULL << 63) - 1) : v <= -9223372036854775808.0 ? (s64)(1ULL << 63) : (s64)v; }
template <class To, class From> W_FN To w_cast(From v) {
  if constexpr (IsF<To>::v) return (To)v;
  else if constexpr (sizeof(To) == 1 && (To)2 == (To)1) return v != 0;
  else if constexpr (!IsF<From>::v) return (To)v;
  else if constexpr (sizeof(To) == 8 && !((To)-1 < 0)) return v != v ? 0 : v >= 18446744073709551616.0 ? ~0ULL : v >= 9223372036854775808.0 ? (u64)v : (u64)w_f2ll(v);
  else return (To)w_f2ll(v);
}
template <class To, class From> W_FN To w_sat(From v) {
  if constexpr (IsF<From>::v) {
    if constexpr (sizeof(To) == 8 && !((To)-1 < 0)) return v > 0 ? w_cast<To>(v) : 0;
    else { const s64 i = w_f2ll(v); return (To)(i < Lim<To>::lo ? Lim<To>::lo : i > Lim<To>::hi ? Lim<To>::hi : i); }
  } else if constexpr (sizeof(From) == 8 && !((From)-1 < 0)) {
    if constexpr (sizeof(To) == 8 && !((To)-1 < 0)) return v;
    else return v > (u64)Lim<To>::hi ? (To)Lim<To>::hi : (To)v;
  } else { const s64 i = (s64)v; return (To)(i < Lim<To>::lo ? Lim<To>::lo : i > Lim<To>::hi ? Lim<To>::hi : i); }
}
template <class T> W_FN typename Reg<T>::t w_round_to(float v) { return w_get(Put<T>::to(v)); }
template <class To> W_FN To w_quantize(float a, float b, float c) {
  if constexpr (sizeof(To) == 1) {
    // A product with 1 / b is the quotient to within 1e-3 wherever that is in range, and rounds alike unless it lies next
    // to a half: only there, and where it is no number, is the quotient itself needed. The rest is exact in float.
    const float near = a * (1.0f / b);
    float r = rintf(near);
    if (!(fabsf(fabsf(near - r) - 0.5f) >= 1e-3f)) { const float q = a / b; if (q != q) return 0; r = rintf(q); }
    return (To)(int)(w_clip<float>(r, (float)Lim<To>::lo - c, (float)Lim<To>::hi - c) + c);
  }
  const float q = a / b;
  return q != q ? (To)0 : w_sat<To>((double)rintf(q) + (double)c);
}
#define W_UNARY(name, one, two) W_FN float name(float a) { return one(a); } W_FN double name(double a) { return two(a); }
W_UNARY(w_sqrt, sqrtf, sqrt) W_UNARY(w_exp, expf, exp) W_UNARY(w_log, logf, log) W_UNARY(w_sin, sinf, sin)
W_UNARY(w_cos, cosf, cos) W_UNARY(w_tan, tanf, tan) W_UNARY(w_asin, asinf, asin) W_UNARY(w_acos, acosf, acos)
W_UNARY(w_atan, atanf, atan) W_UNARY(w_sinh, sinhf, sinh) W_UNARY(w_cosh, coshf, cosh) W_UNARY(w_asinh, asinhf, asinh)
W_UNARY(w_acosh, acoshf, acosh) W_UNARY(w_atanh, atanhf, atanh) W_UNARY(w_erf, erff, erf) W_UNARY(w_ceil, ceilf, ceil)
W_UNARY(w_floor, floorf, floor) W_UNARY(w_rint, rintf, rint) W_UNARY(w_tanh, tanhf, tanh) W_UNARY(w_expm1, expm1f, expm1)
W_UNARY(w_log1p, log1pf, log1p) W_UNARY(w_erfc, erfcf, erfc)
template <class T> W_FN T w_sigmoid(T x) { if (x >= 0) return (T)1 / ((T)1 + w_exp(-x)); const T e = w_exp(x); return e / ((T)1 + e); }
template <class T> W_FN T w_softplus(T x) { return (x > 0 ? x : (x != x ? x : (T)0)) + w_log1p(w_exp(-w_abs(x))); }
template <class T> W_FN T w_gelu_erf(T a) { return (T)0.5 * a * w_erfc(-a * (T)0.70710678118654752440); }
template <class T> W_FN T w_gelu_tanh(T a) { return (T)0.5 * a * ((T)1 + w_tanh((T)0.79788456080286535588 * (a + (T)0.044715 * a * a * a))); }
template <class T> W_FN T w_silu(T a, T k) { return a * w_sigmoid(k * a); }
template <class T> W_FN T w_hard_swish(T a) { return a * w_clip(a / (T)6 + (T)0.5, (T)0, (T)1); }
template <class T> W_FN T w_mish(T a) { return a * w_tanh(w_softplus(a)); }
template <class T> W_FN T w_elu(T a, T k) { return a < 0 ? k * w_expm1(a) : a; }
template <class T> W_FN T w_celu(T a, T k) { return a < 0 ? k * w_expm1(a / k) : a; }
template <class T> W_FN T w_shrink(T a, T l, T b) { return a < -l ? a + b : a > l ? a - b : a != a ? a : (T)0; }
template <class T> W_FN bool w_isinf(T a, bool low, bool high) { return (a == (T)W_INF && high) || (a == -(T)W_INF && low); }
)";

// Sums, maxima and minima over a block's groups of TY threads that share a row. kInner: the threads of a group are
// neighbours. The order of the sum is fixed by the block's shape alone.
constexpr const char* kGroups = R"(
struct Sum { template <class T> W_M T operator()(T a, T b) const { return a + b; } };
struct Prod { template <class T> W_M T operator()(T a, T b) const { return a * b; } };
struct Max { template <class T> W_M T operator()(T a, T b) const { return w_max(a, b); } };
struct Min { template <class T> W_M T operator()(T a, T b) const { return w_min(a, b); } };
template <int TX, int TY, bool INNER, class T, class Op> W_FN T w_group(T v, T* shared, Op op) {
  if constexpr (TY == 1) return v;
  const int t = threadIdx.x;
  if constexpr (INNER) {
    for (int m = (TY < 32 ? TY : 32) / 2; m > 0; m /= 2) v = op(v, __shfl_xor_sync(0xffffffffu, v, m));
    if constexpr (TY > 32) {
      constexpr int W = TY / 32;
      __syncthreads();
      if (t % 32 == 0) shared[t / 32] = v;
      __syncthreads();
      v = shared[t / TY * W];
      for (int w = 1; w < W; ++w) v = op(v, shared[t / TY * W + w]);
    }
    return v;
  } else {
    __syncthreads();
    shared[t] = v;
    for (int s = TY / 2; s > 0; s /= 2) {
      __syncthreads();
      if (t / TX < s) shared[t] = op(shared[t], shared[t + s * TX]);
    }
    __syncthreads();
    return shared[t % TX];
  }
}
)";

}  // namespace

const std::string& prelude() {
  static const std::string text = std::string(kTypes) + kOps + kGroups;
  return text;
}

}  // namespace wootz::cuda
