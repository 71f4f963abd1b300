// Floats of 8 and 4 bits, and elements that lie together in bytes.
#pragma once
#include "backends/cuda/kernels/common/types.cuh"

// The device's own conversions (PTX ISA, cvt with .e4m3x2 and .e5m2x2, of which one half is used): what is too large
// becomes the largest. A fifth of the instructions of those below. A conversion takes as long for one half as for both.
#if !defined(WOOTZ_ON_HOST) && \
    (__CUDA_ARCH__ >= 900 || (__CUDA_ARCH__ >= 890 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201))
#define W_CONVERTS_FLOAT8
template <int EXPONENT>
W_FN u16 w_float8_pair(float low, float high) {
  u16 pair;
  if constexpr (EXPONENT == 4)
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  else
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
}
// As halves.
template <int EXPONENT>
W_FN u32 w_float8_values(u16 pair) {
  u32 halves;
  if constexpr (EXPONENT == 4)
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
  else
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(pair));
  return halves;
}
#endif

// Floats of 8 and 4 bits, bit for bit as base/half.h has them, but for the sign of what is no number. KIND: what lies
// above the largest value is a NaN (0) or an infinity (1), the only NaN is where -0 would be (2), or there is none (3).
template <int E, int M, int B, int MAX, int KIND>
struct Small {
  u8 x;
  static W_M u8 code(float v, bool saturate) {
    const int total = E + M;
#ifdef W_CONVERTS_FLOAT8
    if constexpr (E + B == 11 || E + B == 20)  // E4M3, E5M2
      if (saturate) return (u8)w_float8_pair<E>(v, 0.0f);
#endif
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
#ifdef W_CONVERTS_FLOAT8
    if constexpr (E + B == 11 || E + B == 20) return w_h2f((u16)w_float8_values<E>(x));
#endif
    const u32 size = x & ((1u << total) - 1);
    const bool negative = x >> total & 1;
    if (KIND == 2   ? negative && size == 0
        : KIND == 3 ? false
        : KIND == 0 ? size == (1u << total) - 1
                    : size > ((1u << E) - 1) << M)
      return W_NAN;
    // The exponent's bias by one exact product, also for those below the normal ones.
    const float v =
        KIND == 1 && size == ((1u << E) - 1) << M ? W_INF : w_bits2f(size << (23 - M)) * w_bits2f((u32)(254 - B) << 23);
    return negative ? -v : v;
  }
};

typedef Small<4, 3, 7, 0x7e, 0> f8e4m3;
typedef Small<4, 3, 8, 0x7f, 2> f8e4m3fnuz;
typedef Small<5, 2, 15, 0x7b, 1> f8e5m2;
typedef Small<5, 2, 16, 0x7f, 2> f8e5m2fnuz;

// Of what the device converts; 0: of other types.
template <class T>
constexpr int kFloat8Exponent = 0;
template <>
constexpr int kFloat8Exponent<f8e4m3> = 4;
template <>
constexpr int kFloat8Exponent<f8e5m2> = 5;
typedef Small<2, 1, 1, 7, 3> f4e2m1;
struct f8e8m0 {  // a power of two
  u8 x;
  static W_M u8 code(float v, bool saturate) {
    if (!(v > 0)) return v != v ? 255 : 0;
    const int e = v == W_INF ? 255 : (int)rintf((float)log2((double)v)) + 127;
    return (u8)(e < 0 ? 0 : e > 254 ? (saturate ? 254 : 255) : e);
  }
  W_M float value() const { return x == 255 ? W_NAN : w_bits2f(x == 0 ? 0x400000u : (u32)x << 23); }
};

template <int E, int M, int B, int MAX, int K>
struct Reg<Small<E, M, B, MAX, K>> {
  typedef float t;
};

template <>
struct Reg<f8e8m0> {
  typedef float t;
};

template <int E, int M, int B, int MAX, int K>
W_FN float w_get(Small<E, M, B, MAX, K> v) {
  return v.value();
}

W_FN float w_get(f8e8m0 v) { return v.value(); }

// Byte k of words as what it is.
template <class T, int N>
W_FN float w_float_byte(const Pack<u32, N>& words, int k) {
#ifdef W_CONVERTS_FLOAT8
  constexpr int kExponentBits = kFloat8Exponent<T>;
  if constexpr (kExponentBits != 0) {  // neighbours are one conversion, which the compiler finds
    const u32 halves = w_float8_values<kExponentBits>((u16)(words.v[k / 4] >> k % 4 / 2 * 16));
    return w_h2f((u16)(k % 2 == 0 ? halves : halves >> 16));
  }
#endif
  T r;
  r.x = (u8)(words.v[k / 4] >> k % 4 * 8);
  return w_get(r);
}

template <class T>
W_FN T w_small(float v, bool saturate) {
  T r;
  r.x = T::code(v, saturate);
  return r;
}

// Floats as they are stored, in words; what is too large becomes the largest, infinity as well. (Of bytes the compiler
// would take pairs apart and put them together again.)
template <class T, int N>
W_FN Pack<u32, N / 4> w_small_words(const Pack<float, N>& v) {
  Pack<u32, N / 4> words;
#pragma unroll
  for (int k = 0; k < N; k += 4) {
#ifdef W_CONVERTS_FLOAT8
    words.v[k / 4] = w_float8_pair<kFloat8Exponent<T>>(v.v[k], v.v[k + 1]) |
                     (u32)w_float8_pair<kFloat8Exponent<T>>(v.v[k + 2], v.v[k + 3]) << 16;
#else
    words.v[k / 4] = 0;
    for (int i = 0; i < 4; ++i) words.v[k / 4] |= (u32)w_small<T>(v.v[k + i], true).x << 8 * i;
#endif
  }
  return words;
}

// Stored, what is too large becomes the largest; infinity stays where there is one.
template <int E, int M, int B, int MAX, int K>
struct Put<Small<E, M, B, MAX, K>> {
  static W_M Small<E, M, B, MAX, K> to(float v) {
    return w_small<Small<E, M, B, MAX, K>>(v, K != 1 || fabsf(v) != W_INF);
  }
  static W_M Small<E, M, B, MAX, K> to(Small<E, M, B, MAX, K> v) { return v; }
};

template <>
struct Put<f8e8m0> {
  static W_M f8e8m0 to(float v) { return w_small<f8e8m0>(v, true); }
};

// Elements of 4 and 2 bits lie together in bytes, the first one lowest.
template <int BITS>
W_FN u32 w_bits_at(const u8* x, u64 i) {
  return x[i * BITS / 8] >> (int)(i % (8 / BITS) * BITS) & ((1u << BITS) - 1);
}

template <int BITS>
W_FN s8 w_low_signed(u32 v) {
  return (s8)((int)(v << (32 - BITS)) >> (32 - BITS));
}

template <int BITS>
W_FN u8 w_low(u32 v) {
  return (u8)(v & ((1u << BITS) - 1));
}

W_FN float w_f4(u32 v) {
  f4e2m1 r;
  r.x = (u8)v;
  return r.value();
}
