// Sixteen vectors of AVX-512, transposed. For files that are compiled for it.
#pragma once

#include <immintrin.h>

namespace wootz::cpu {
namespace {

// Element j of row i to element i of row j.
inline void turn(__m512i (&r)[16]) {
  __m512i t[16], u[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    u[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    u[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    u[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    u[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // u[4 g + c] has in its quarter l what rows 4 g to 4 g + 3 have in column 4 l + c.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i even = _mm512_shuffle_i32x4(u[c], u[4 + c], 0x88), odd = _mm512_shuffle_i32x4(u[c], u[4 + c], 0xdd);
    const __m512i even2 = _mm512_shuffle_i32x4(u[8 + c], u[12 + c], 0x88);
    const __m512i odd2 = _mm512_shuffle_i32x4(u[8 + c], u[12 + c], 0xdd);
    r[c] = _mm512_shuffle_i32x4(even, even2, 0x88);
    r[4 + c] = _mm512_shuffle_i32x4(odd, odd2, 0x88);
    r[8 + c] = _mm512_shuffle_i32x4(even, even2, 0xdd);
    r[12 + c] = _mm512_shuffle_i32x4(odd, odd2, 0xdd);
  }
}

}  // namespace
}  // namespace wootz::cpu
