// Products of floats of 8 bits by single warps: mma.sync of sm_89. A Hopper GPU has them for groups of warps alone
// (gemm/feed.cuh); there bytes become the same numbers in FP16, of which as many products are two instructions. The
// emulator has its own.
#pragma once
#include "backends/cuda/kernels/gemm/mma.cuh"

template <class T>
constexpr bool kFloat8 = false;
template <>
constexpr bool kFloat8<f8e4m3> = true;
template <>
constexpr bool kFloat8<f8e5m2> = true;

#ifndef WOOTZ_ON_HOST
#if __CUDA_ARCH__ >= 900
// Two neighbours of a word as FP16. Not volatile: one conversion serves all products of a word.
template <class T>
W_FN u32 w_wider(u32 pair);
template <>
W_M u32 w_wider<f8e4m3>(u32 pair) {
  u32 d;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(d) : "h"((u16)pair));
  return d;
}
template <>
W_M u32 w_wider<f8e5m2>(u32 pair) {
  u32 d;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(d) : "h"((u16)pair));
  return d;
}

// The first halves of words are places of the sum beside those that a thread has of the second.
template <class X, class W>
W_FN void w_mma_float8(float (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  w_mma<f16>(d, w_wider<X>(a0), w_wider<X>(a1), w_wider<X>(a0 >> 16), w_wider<X>(a1 >> 16), w_wider<W>(b0),
             w_wider<W>(b0 >> 16));
  w_mma<f16>(d, w_wider<X>(a2), w_wider<X>(a3), w_wider<X>(a2 >> 16), w_wider<X>(a3 >> 16), w_wider<W>(b1),
             w_wider<W>(b1 >> 16));
}
#elif __CUDA_ARCH__ >= 890
// d += a * b for a 16 x 32 tile of X and a 32 x 8 tile of W, spread over a warp as those of bytes are.
template <class X, class W>
struct Float8Mma;
#define W_FLOAT8_MMA_OF(X, W, x, w)                                                      \
  template <>                                                                            \
  struct Float8Mma<X, W> {                                                               \
    static W_M void add(float (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) { \
      asm volatile("mma.sync.aligned.m16n8k32.row.col.f32." x "." w                      \
                   ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"          \
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                      \
                   : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));              \
    }                                                                                    \
  };
W_FLOAT8_MMA_OF(f8e4m3, f8e4m3, "e4m3", "e4m3")
W_FLOAT8_MMA_OF(f8e4m3, f8e5m2, "e4m3", "e5m2")
W_FLOAT8_MMA_OF(f8e5m2, f8e4m3, "e5m2", "e4m3")
#undef W_FLOAT8_MMA_OF
template <class X, class W>
W_FN void w_mma_float8(float (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  Float8Mma<X, W>::add(d, a0, a1, a2, a3, b0, b1);
}
#else  // no kernel that asks for them is offered
template <class X, class W>
W_FN void w_mma_float8(float (&)[4], u32, u32, u32, u32, u32, u32) {}
#endif
#endif

// Of integers, floats of 16 bits and those of 8.
template <class X, class W, class P>
W_FN void w_multiply(P (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
  if constexpr (kFloat8<X>)
    w_mma_float8<X, W>(d, a0, a1, a2, a3, b0, b1);
  else
    w_mma<X>(d, a0, a1, a2, a3, b0, b1);
}
