// Element types as they lie in memory, as they are computed with (Reg), and the way from one to the other (w_get, Put).
// Everything that differs on the processor, where tests run kernels, is behind WOOTZ_ON_HOST: what is missing there is
// what the emulator defines itself. W_FN begins a function, W_M one of a class.
#pragma once

typedef signed char s8;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long s64;
typedef unsigned long long u64;
struct f16 {
  u16 x;
};

struct bf16 {
  u16 x;
};

struct b8 {
  u8 x;
};

#ifndef WOOTZ_ON_HOST
#define W_FN __device__ __forceinline__
#define W_M __device__ __forceinline__
W_FN float w_h2f(u16 h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}

W_FN u16 w_f2h(float f) {
  u16 h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}

W_FN float w_bits2f(u32 b) { return __uint_as_float(b); }
// The larger of each half, as floats of 16 bits that are no NaN.
W_FN u32 w_max_halves(u32 a, u32 b) {
  u32 d;
  asm("max.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
// The larger of each half, floats of 16 bits; no number where either is none.
template <class T>
W_FN u32 w_largest(u32 a, u32 b);
template <>
W_M u32 w_largest<f16>(u32 a, u32 b) {
  u32 d;
  asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
template <>
W_M u32 w_largest<bf16>(u32 a, u32 b) {
  u32 d;
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
W_FN u32 w_f2bits(float f) { return __float_as_uint(f); }
W_FN u64 w_d2bits(double d) { return (u64)__double_as_longlong(d); }
// Rounded by itself: the compiler makes no fused multiply-add of it and an addition.
W_FN float w_times(float a, float b) { return __fmul_rn(a, b); }
// The smaller; no number where a is none.
W_FN float w_least(float a, float b) {
  float d;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}
// a * b + c, rounded once, from 0 to 1; 0 where it is no number.
W_FN float w_fraction(float a, float b, float c) {
  float d;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
  return d;
}
// The value, made where it is asked for: not in front of a loop, to be kept in a register from there on.
W_FN int w_here(int v) {
  asm volatile("" : "+r"(v));
  return v;
}
#define W_INF __int_as_float(0x7f800000)
#define W_NAN __int_as_float(0x7fffffff)
#endif
W_FN float w_b2f(u16 b) { return w_bits2f((u32)b << 16); }
W_FN u16 w_f2b(float f) {
  const u32 b = w_f2bits(f);
  if (f != f) return (u16)((b >> 16) | 0x40);
  return (u16)((b + 0x7fff + ((b >> 16) & 1)) >> 16);
}

template <class T>
struct Reg {
  typedef T t;
};

template <>
struct Reg<f16> {
  typedef float t;
};

template <>
struct Reg<bf16> {
  typedef float t;
};

template <>
struct Reg<b8> {
  typedef bool t;
};

template <class T>
W_FN T w_get(T v) {
  return v;
}

W_FN float w_get(f16 v) { return w_h2f(v.x); }
W_FN float w_get(bf16 v) { return w_b2f(v.x); }
W_FN bool w_get(b8 v) { return v.x != 0; }

template <class T>
struct Put {
  static W_M T to(typename Reg<T>::t v) { return v; }
};

template <>
struct Put<f16> {
  static W_M f16 to(float v) {
    f16 r;
    r.x = w_f2h(v);
    return r;
  }
};

template <>
struct Put<bf16> {
  static W_M bf16 to(float v) {
    bf16 r;
    r.x = w_f2b(v);
    return r;
  }
};

template <>
struct Put<b8> {
  static W_M b8 to(bool v) {
    b8 r;
    r.x = v;
    return r;
  }
};

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T v[N];
};

// Four bytes of those of two words, by selectors of four bits each.
W_FN u32 w_bytes_of(u32 low, u32 high, u32 from) {
#ifdef WOOTZ_ON_HOST
  const u64 both = (u64)high << 32 | low;
  u32 made = 0;
  for (int i = 0; i < 4; ++i) made |= (u32)(both >> (from >> (i * 4) & 7) * 8 & 255) << (i * 8);
  return made;
#else
  return __byte_perm(low, high, from);
#endif
}

// Four integers as bytes, signed or not; what is beyond them as the last one there is.
template <bool SIGNED>
W_FN u32 w_near_bytes(int a, int b, int c, int d) {
#ifdef WOOTZ_ON_HOST
  const int all[4] = {a, b, c, d}, least = SIGNED ? -128 : 0, most = SIGNED ? 127 : 255;
  u32 made = 0;
  for (int i = 0; i < 4; ++i) made |= ((u32)(all[i] < least ? least : all[i] > most ? most : all[i]) & 255u) << (i * 8);
  return made;
#else
  u32 high, made;
  if constexpr (SIGNED) {
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(high) : "r"(d), "r"(c), "r"(0));
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(made) : "r"(b), "r"(a), "r"(high));
  } else {
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(high) : "r"(d), "r"(c), "r"(0));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(made) : "r"(b), "r"(a), "r"(high));
  }
  return made;
#endif
}

// What no kernel changes while this one runs: the compiler may read it ahead of stores in front.
template <class T, int N>
W_FN Pack<T, N> w_read_constant(const Pack<T, N>* from) {
#ifndef WOOTZ_ON_HOST
  if constexpr (sizeof(*from) % 16 == 0) {
    Pack<T, N> pack;
#pragma unroll
    for (int i = 0; i < (int)sizeof(pack) / 16; ++i) {
      const uint4 bits = __ldg((const uint4*)from + i);
      memcpy((char*)&pack + i * 16, &bits, 16);
    }
    return pack;
  }
#endif
  return *from;
}

// 16 bytes of global memory, read where it is asked for: the compiler does not leave them for when they are needed.
template <class T, int N>
W_FN Pack<T, N> w_read_now(const Pack<T, N>* from) {
  static_assert(sizeof(*from) == 16, "one read");
#ifdef WOOTZ_ON_HOST
  return *from;
#else
  struct alignas(16) {
    u32 v[4];
  } bits;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.v[0]), "=r"(bits.v[1]), "=r"(bits.v[2]), "=r"(bits.v[3])
               : "l"(from));
  Pack<T, N> pack;
  memcpy(&pack, &bits, 16);
  return pack;
#endif
}

template <class T>
struct IsF {
  static const bool v = false;
};

template <>
struct IsF<float> {
  static const bool v = true;
};

template <>
struct IsF<double> {
  static const bool v = true;
};

template <class T>
struct Lim;

template <>
struct Lim<bool> {
  static const u64 lo = 0, hi = 1;
};

template <>
struct Lim<s8> {
  static const s64 lo = -128, hi = 127;
};

template <>
struct Lim<u8> {
  static const s64 lo = 0, hi = 255;
};

template <>
struct Lim<short> {
  static const s64 lo = -32768, hi = 32767;
};

template <>
struct Lim<u16> {
  static const s64 lo = 0, hi = 65535;
};

template <>
struct Lim<int> {
  static const s64 lo = -2147483648LL, hi = 2147483647LL;
};

template <>
struct Lim<u32> {
  static const s64 lo = 0, hi = 4294967295LL;
};

template <>
struct Lim<s64> {
  static const s64 lo = (s64)(1ULL << 63), hi = (s64)((1ULL << 63) - 1);
};

template <>
struct Lim<u64> {
  static const s64 lo = 0, hi = (s64)((1ULL << 63) - 1);
};
