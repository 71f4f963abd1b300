// Four bytes that lie together, integers or floats of 8 bits, as four floats of 16 bits.
#pragma once
#include "backends/cuda/kernels/gemm/mma.cuh"

// Two words of halves of type T from a word of bytes of type B, in their order.
template <class T, class B>
struct ToHalves;

#ifdef WOOTZ_ON_HOST
template <class T, class B>
struct ToHalves {
  static W_M void of(u32 word, u32 (&made)[2]) {
    Pack<B, 4> bytes;
    *(Pack<u32, 1>*)&bytes = {{word}};
#pragma unroll
    for (int i = 0; i < 2; ++i) made[i] = w_halves<T>((float)w_get(bytes.v[i * 2]), (float)w_get(bytes.v[i * 2 + 1]));
  }
};
#else
// As a float of 16 bits whose last bits are an integer: 1024 + x + 128.
template <>
struct ToHalves<f16, s8> {
  static W_M void of(u32 word, u32 (&made)[2]) {
    const u32 moved = word ^ 0x80808080u;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      made[i] = __byte_perm(moved, 0x64646464u, i == 0 ? 0x4140 : 0x4342);
      asm("sub.f16x2 %0, %0, %1;" : "+r"(made[i]) : "r"(0x64806480u));
    }
  }
};

// The same of seven bits; the eighth is what is subtracted more: 128 + low - (128 + 128).
template <>
struct ToHalves<bf16, s8> {
  static W_M void of(u32 word, u32 (&made)[2]) {
    const u32 low = word & 0x7f7f7f7fu, high = word & 0x80808080u;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const u32 less = __byte_perm(high, 0xc3c3c3c3u, i == 0 ? 0x4140 : 0x4342);
      made[i] = __byte_perm(low, 0x43434343u, i == 0 ? 0x4140 : 0x4342);
      asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(made[i]) : "r"(0x3f803f80u), "r"(less));
    }
  }
};

template <>
struct ToHalves<f16, f8e5m2> {
  static W_M void of(u32 word, u32 (&made)[2]) {
    made[0] = __byte_perm(word, 0, 0x1404);
    made[1] = __byte_perm(word, 0, 0x3424);
  }
};

template <>
struct ToHalves<f16, f8e4m3> {
  static W_M void of(u32 word, u32 (&made)[2]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#ifdef W_CONVERTS_FLOAT8
      asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(made[i]) : "h"((u16)(word >> (16 * i))));
#else
      Pack<f8e4m3, 4> bytes;
      *(u32*)&bytes = word;
      made[i] = w_halves<f16>(w_get(bytes.v[i * 2]), w_get(bytes.v[i * 2 + 1]));
#endif
    }
  }
};

template <class B>
struct ToHalves<bf16, B> {
  static W_M void of(u32 word, u32 (&made)[2]) {
    u32 halves[2];
    ToHalves<f16, B>::of(word, halves);
#pragma unroll
    for (int i = 0; i < 2; ++i) made[i] = w_halves<bf16>(w_h2f((u16)halves[i]), w_h2f((u16)(halves[i] >> 16)));
  }
};
#endif

// Unsigned ones as signed: 128 lower, by one bit.
template <class B>
struct Signed {
  typedef B t;
  static const u32 kFlip = 0;
  static const int kLower = 0;
};
template <>
struct Signed<u8> {
  typedef s8 t;
  static const u32 kFlip = 0x80808080u;
  static const int kLower = 128;
};

template <class T, class B>
W_FN void halves_of(u32 word, u32 (&made)[2]) {
  ToHalves<T, typename Signed<B>::t>::of(word ^ Signed<B>::kFlip, made);
}
