// Results as bytes and as BF16, in AVX-512. For files that are compiled for it.
#pragma once

#include <immintrin.h>

#include "backends/cpu/dense/amx_tile.h"

namespace wootz::cpu {
namespace {

inline __m256i rounded_to_bf16(__m512 x) {
#ifdef __AVX512BF16__
  return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
#else
  const __m512i bits = _mm512_castps_si512(x), one = _mm512_set1_epi32(1);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  const __m512i kept = _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), quiet);
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(kept, 16));
#endif
}

// The instruction by name: files of VNNI are compiled for processors without it, too.
inline __m512i half_looked_up(const uint8_t* table, __m512i index) {
  const __m512i low = _mm512_loadu_si512(table), high = _mm512_loadu_si512(table + 64);
  __asm__("vpermi2b %2, %1, %0" : "+v"(index) : "v"(low), "v"(high));
  return index;
}
__attribute__((always_inline)) inline __m512i looked_up(const uint8_t* table, __m512i index) {
  return _mm512_mask_mov_epi8(half_looked_up(table, index), _mm512_movepi8_mask(index),
                              half_looked_up(table + 128, index));
}

// Of four vectors, by groups of four from each in turn. With `least_zero` of values that are to be no less than 0.
template <SumsEnd::Type kType>
__attribute__((always_inline)) inline __m512i packed(const AmxUnit& u, const __m512 (&v)[4], bool least_zero) {
  __m512i q[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) q[j] = _mm512_cvtps_epi32(v[j]);
  if (u.guarded) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const __mmask16 large = _mm512_cmp_ps_mask(v[j], _mm512_set1_ps(65536), _CMP_GT_OQ);
      const __m512i known = _mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(v[j], v[j], _CMP_ORD_Q), q[j]);
      q[j] = _mm512_mask_mov_epi32(known, large, _mm512_set1_epi32(65536));
    }
  }
  __m512i a = _mm512_packs_epi32(q[0], q[1]), b = _mm512_packs_epi32(q[2], q[3]);
  if (u.zero != 0) {
    const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(u.zero));
    a = _mm512_adds_epi16(a, zero);
    b = _mm512_adds_epi16(b, zero);
  }
  constexpr bool kUnsigned = kType == SumsEnd::Type::kU8;
  __m512i bytes = kUnsigned ? _mm512_packus_epi16(a, b) : _mm512_packs_epi16(a, b);
  if (least_zero && (!kUnsigned || u.zero != 0)) {
    const __m512i zero = _mm512_set1_epi8(static_cast<char>(u.zero));
    bytes = kUnsigned ? _mm512_max_epu8(bytes, zero) : _mm512_max_epi8(bytes, zero);
  }
  return u.table == nullptr ? bytes : looked_up(u.table, bytes);
}

}  // namespace
}  // namespace wootz::cpu
