// The largest or the mean of windows.
// The problem: that of common/strip.cuh; kMax, or the mean is asked for; Constants {first_row, end_row, first_column,
// end_column: of the input, with the padding that counts}.
#pragma once
#include "backends/cuda/kernels/common/strip.cuh"

template <class T>
W_FN float lowest() {
  if constexpr (IsF<typename Reg<T>::t>::v)
    return -W_INF;
  else
    return (float)Lim<T>::lo;
}

// Of `count` positions from `start` on, those in [first, end).
template <int COUNT>
W_FN int positions(int start, int step, int first, int end) {
  int inside = 0;
#pragma unroll
  for (int q = 0; q < COUNT; ++q) {
    const int at = start + q * step;
    inside += at >= first && at < end;
  }
  return inside;
}

// The largest of bytes is sought in halves of words, two at once, which are compared as (subnormal) floats of 16 bits.
constexpr bool kByHalves = kMax && sizeof(X) == 1;

// Bytes in the order of what they are, from 0 on: of floats of 8 bits those with a sign from below, without it above
// these; NaN is the largest.
template <class T>
struct Order {
  static constexpr u32 kLowest = 0;  // a word whose bytes come first
  static W_M u32 lift(u32 word) { return word; }
  static W_M float value(u32 byte) { return w_short2f((int)byte); }
};
template <>
struct Order<s8> {
  static constexpr u32 kLowest = 0x80808080u;
  static W_M u32 lift(u32 word) { return word ^ kLowest; }
  static W_M float value(u32 byte) { return w_short2f((int)byte) - 128; }
};
template <class T>
struct OrderOfFloats {
  static constexpr u32 kLowest = 0xFFFFFFFFu;
  static W_M u32 lift(u32 word) { return word ^ ((word >> 7 & 0x01010101u) * 0x7Fu) ^ 0x80808080u; }
  static W_M float value(u32 byte) {
    T t;
    t.x = (u8)(byte < 128 ? ~byte : byte ^ 128u);
    return w_get(t);
  }
};
template <>
struct Order<f8e4m3> : OrderOfFloats<f8e4m3> {};
template <>
struct Order<f8e5m2> : OrderOfFloats<f8e5m2> {};

struct Halves {
  u32 v[kVector / 4 + 1][2];  // of a word its bytes 0 and 2, and 1 and 3
};

W_FN void take_larger(Halves& h, const Halves& x) {
#pragma unroll
  for (int w = 0; w < kVector / 4; ++w)
#pragma unroll
    for (int i = 0; i < 2; ++i) h.v[w][i] = w_max_halves(h.v[w][i], x.v[w][i]);
}

// All of the strip's elements are on their way before the first is looked at; those outside of the image are 0.
W_FN void largest_of_bytes(const X* x, const Constants& c, const Strip& s, float (&a)[kResults][kVector]) {
  constexpr int kAcross = (kResults - 1) * kStrideW + (kKernelW - 1) * kDilationW + 1;
  Pack<u32, kVector / 4> read[kKernelH][kAcross];
#pragma unroll
  for (int ky = 0; ky < kKernelH; ++ky)
#pragma unroll
    for (int j = 0; j < kAcross; ++j) {
      const int iy = s.oy * c.stride_h - c.top + ky * c.dilation_h, ix = s.ox * kStrideW - c.left + j;
      const bool in = iy >= 0 && iy < c.in_h && ix >= 0 && ix < c.in_w;
#pragma unroll
      for (int w = 0; w < kVector / 4; ++w) read[ky][j].v[w] = Order<X>::kLowest;
      if (in)
        read[ky][j] =
            *(const Pack<u32, kVector / 4>*)(x + ((s.n * c.in_h + iy) * c.in_w + ix) * c.channels + s.channel);
    }
  Halves columns[kAcross] = {}, largest[kResults] = {};
#pragma unroll
  for (int j = 0; j < kAcross; ++j)
#pragma unroll
    for (int ky = 0; ky < kKernelH; ++ky) {
      Halves own;
#pragma unroll
      for (int w = 0; w < kVector / 4; ++w) {
        const u32 word = Order<X>::lift(read[ky][j].v[w]);
        own.v[w][0] = word & 0x00FF00FFu;
        own.v[w][1] = word >> 8 & 0x00FF00FFu;
      }
      take_larger(columns[j], own);
    }
#pragma unroll
  for (int t = 0; t < kResults; ++t) {
#pragma unroll
    for (int kx = 0; kx < kKernelW; ++kx) take_larger(largest[t], columns[t * kStrideW + kx * kDilationW]);
#pragma unroll
    for (int k = 0; k < kVector; ++k) a[t][k] = Order<X>::value(largest[t].v[k / 4][k % 2] >> k % 4 / 2 * 16 & 255u);
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  Strip s;
  if (!this_strip(c, &s)) return;
  float a[kResults][kVector];
  if constexpr (kByHalves && kKernelH * kKernelW <= 9) {
    largest_of_bytes(p.x, c, s, a);
    return store(p, c, s, a);
  }
#pragma unroll
  for (int t = 0; t < kResults; ++t) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) a[t][k] = kMax ? lowest<X>() : 0;
  }
  each_element(
      p.x, c, s, [](int) {},
      [&](const Pack<X, kVector>& v, int t, int) {
#pragma unroll
        for (int k = 0; k < kVector; ++k)
          if constexpr (kMax)
            a[t][k] = w_max<float>(a[t][k], w_get(v.v[k]));
          else
            a[t][k] += w_get(v.v[k]);
      });
  if constexpr (!kMax) {
#pragma unroll
    for (int t = 0; t < kResults; ++t) {
      const int rows = positions<kKernelH>(s.oy * c.stride_h - c.top, c.dilation_h, c.first_row, c.end_row);
      const int columns = positions<kKernelW>((s.ox + t) * kStrideW - c.left, kDilationW, c.first_column, c.end_column);
      const float by = rows * columns == 0 ? 0.0f : 1.0f / (float)(rows * columns);
#pragma unroll
      for (int k = 0; k < kVector; ++k) a[t][k] *= by;
    }
  }
  store(p, c, s, a);
}
