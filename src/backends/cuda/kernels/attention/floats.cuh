// Neighbours that a thread reads at once, of any type, as floats; zero points are taken off.
#pragma once
#include "backends/cuda/kernels/attention/halves.cuh"

// kBytes that lie together.
template <int kBytes>
using Piece = Pack<u32, kBytes / 4>;

template <class T>
struct IsInteger {
  static const bool v = false;
};
template <>
struct IsInteger<s8> {
  static const bool v = true;
};
template <>
struct IsInteger<u8> {
  static const bool v = true;
};

// Four integers of 8 bits: the lowest bits of floats from 2 to the 23rd on, for which a conversion would take longer.
template <class T>
W_FN void integers_of(u32 word, double zero, float* to) {
#ifdef WOOTZ_ON_HOST
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = (float)(T)(word >> i * 8) - (float)zero;
#else
  constexpr bool kSigned = (T)-1 < (T)0;
  const u32 moved = kSigned ? word ^ 0x80808080u : word;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    to[i] = w_bits2f(__byte_perm(moved, 0x4b000000u, 0x7440 + i)) - (float)(8388608.0 + (kSigned ? 128.0 : 0.0) + zero);
#endif
}

template <class T, int kBytes>
W_FN void floats_of(const Piece<kBytes>& piece, double zero, float (&to)[kBytes / sizeof(T)]) {
#pragma unroll
  for (int w = 0; w < kBytes / 4; ++w) {
    const u32 word = piece.v[w];
    if constexpr (sizeof(T) == 4) {
      to[w] = w_bits2f(word);
    } else if constexpr (sizeof(T) == 2) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        T t;
        t.x = (u16)(word >> i * 16);
        to[w * 2 + i] = w_get(t);
      }
    } else if constexpr (IsInteger<T>::v) {
      integers_of<T>(word, zero, to + w * 4);
    } else {
      u32 halves[2];
      ToHalves<f16, T>::of(word, halves);
#pragma unroll
      for (int i = 0; i < 4; ++i) to[w * 4 + i] = w_h2f((u16)(halves[i / 2] >> i % 2 * 16)) - (float)zero;
    }
  }
}
