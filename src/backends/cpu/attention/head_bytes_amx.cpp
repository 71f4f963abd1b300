#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/attention/head_bytes.h"
#include "backends/cpu/attention/tile_sums_inl.h"
#include "backends/cpu/dense/activation_avx512_inl.h"
#include "backends/cpu/simd/lanes_avx512_inl.h"
#include "backends/cpu/simd/tiles_inl.h"
#include "backends/cpu/simd/turn_avx512_inl.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kSide = 16, kLine = kTileLine;  // rows and columns of a tile of sums; bytes of a tile's line
constexpr int64_t kTile = kSide * kLine, kRows = kHeadRows;
constexpr float kLow = -std::numeric_limits<float>::infinity(), kLog2e = 1.44269504f;

constexpr int64_t padded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
// Not a large power of two: rows that are read one below the other are in different sets of the first cache.
int64_t score_stride(int64_t keys) { return padded(keys, kLine) + kSide; }
int64_t weight_stride(int64_t keys) { return padded(keys, kLine) + kLine; }

// Queries are unsigned here, keys and values signed, whatever they are: that is a bit, and a zero point 128 higher or
// lower.
struct Memory {
  uint8_t *queries, *keys, *values, *weights;
  int32_t *sums, *key_sums;  // [kRows][score_stride]; of the elements of each key
  float *mask, *results;
  int32_t query_sums[kRows];
  static int64_t elements(int64_t keys, int64_t size, int64_t v_size) {
    const int64_t wide = padded(keys, kLine), deep = padded(size, kLine);
    return (kRows * deep + wide * (deep + padded(v_size, kSide)) + kRows * weight_stride(keys)) / 4 +
           kRows * score_stride(keys) + 2 * wide + kRows * padded(v_size, kSide);
  }
  explicit Memory(const ByteHead& b) {
    float* at = b.memory;
    const auto take = [&at](int64_t n) {
      float* const from = at;
      at += n;
      return from;
    };
    const int64_t wide = padded(b.keys, kLine), deep = padded(b.size, kLine), across = padded(b.v_size, kSide);
    const auto bytes = [&](int64_t n) { return reinterpret_cast<uint8_t*>(take(n / 4)); };
    queries = bytes(kRows * deep);
    keys = bytes(wide * deep);
    values = bytes(wide * across);
    weights = bytes(kRows * weight_stride(b.keys));
    sums = reinterpret_cast<int32_t*>(take(kRows * score_stride(b.keys)));
    key_sums = reinterpret_cast<int32_t*>(take(wide));
    mask = take(wide);
    results = take(kRows * across);
  }
};

inline __m512i flipped(__m512i bytes, bool flip, __mmask64 there) {
  return flip ? _mm512_mask_xor_epi64(bytes, 0xff, bytes, _mm512_maskz_set1_epi8(there, static_cast<char>(0x80)))
              : bytes;
}

inline __mmask64 first_bytes(int64_t n) { return n >= 64 ? ~__mmask64{0} : n <= 0 ? 0 : (__mmask64{1} << n) - 1; }

// Keys [0, b.keys) as tiles of columns: [16 keys][64 elements], of which a line has four of each key.
void pack_keys(const ByteHead& b, const Memory& m) {
  const __m512i ones = _mm512_set1_epi8(1);
  uint8_t* to = m.keys;
  for (int64_t j = 0; j < padded(b.keys, kLine); j += kSide) {
    __m512i sum = _mm512_setzero_si512();
    for (int64_t e = 0; e < b.size; e += kLine, to += kTile) {
      __m512i r[16];
      const __mmask64 there = first_bytes(b.size - e);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i)
        r[i] = j + i < b.keys ? flipped(_mm512_maskz_loadu_epi8(there, b.k + (j + i) * b.k_row + e), !b.k_signed, there)
                              : _mm512_setzero_si512();
      turn(r);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        _mm512_store_si512(to + i * kLine, r[i]);
        sum = _mm512_dpbusd_epi32(sum, ones, r[i]);
      }
    }
    _mm512_storeu_si512(m.key_sums + j, sum);
  }
}

// Values: [64 keys][16 elements], of which a line has four keys of each element.
void pack_values(const ByteHead& b, const Memory& m) {
  const __m128i flip = _mm_set1_epi8(b.v_signed ? 0 : static_cast<char>(0x80));
  const int64_t across = padded(b.v_size, kSide);
  for (int64_t j = 0; j < padded(b.keys, kLine); j += 4) {
    uint8_t* const line = m.values + j / kLine * across * kLine + j % kLine / 4 * kLine;
    for (int64_t e = 0; e < b.v_size; e += kSide) {
      const __mmask16 there = static_cast<__mmask16>(first_bytes(b.v_size - e));
      const auto row = [&](int64_t i) {
        return i < b.keys ? _mm_xor_si128(_mm_maskz_loadu_epi8(there, b.v + i * b.v_row + e), flip)
                          : _mm_setzero_si128();
      };
      const __m128i r0 = row(j), r1 = row(j + 1), r2 = row(j + 2), r3 = row(j + 3);
      const __m128i a = _mm_unpacklo_epi8(r0, r1), c = _mm_unpacklo_epi8(r2, r3);
      const __m128i d = _mm_unpackhi_epi8(r0, r1), f = _mm_unpackhi_epi8(r2, r3);
      auto* const to = reinterpret_cast<__m128i*>(line + e / kSide * kTile);
      _mm_store_si128(to, _mm_unpacklo_epi16(a, c));
      _mm_store_si128(to + 1, _mm_unpackhi_epi16(a, c));
      _mm_store_si128(to + 2, _mm_unpacklo_epi16(d, f));
      _mm_store_si128(to + 3, _mm_unpackhi_epi16(d, f));
    }
  }
}

// Rows [first, first + count) of the queries, side by side, and the sums of their elements.
void copy_queries(const ByteHead& b, Memory& m, int64_t first, int64_t count) {
  const int64_t deep = padded(b.size, kLine);
  const __m512i ones = _mm512_set1_epi8(1);
  for (int64_t r = 0; r < kRows; ++r) {
    __m512i sum = _mm512_setzero_si512();
    for (int64_t e = 0; e < deep; e += kLine) {
      const __mmask64 there = r < count ? first_bytes(b.size - e) : 0;
      const __m512i x = flipped(_mm512_maskz_loadu_epi8(there, b.q + (first + r) * b.q_row + e), b.q_signed, there);
      _mm512_store_si512(m.queries + r * deep + e, x);
      sum = _mm512_dpbusd_epi32(sum, x, ones);
    }
    m.query_sums[r] = _mm512_reduce_add_epi32(sum);
  }
}

// A row's scores in the place of the sums that they are, and the largest of them.
struct Row {
  float* scores;        // where the sums are
  const int32_t* keys;  // sums of the keys' elements
  const float* mask;    // null: nothing is added
  int64_t wide, seen;
  int32_t own, query_zero;  // what is added to each sum; what each key's sum is multiplied by, and subtracted
};
inline __m512 score_row(const ByteHead& b, const Row& row) {
  const __m512 low = _mm512_set1_ps(kLow), scale = _mm512_set1_ps(b.scale);
  const bool rounds = b.scores.scale > 0;
  const __m512 steps = _mm512_set1_ps(rounds ? b.scale / b.scores.scale : 1), grid = _mm512_set1_ps(b.scores.scale);
  const __m512 least = _mm512_set1_ps(b.scores.low - b.scores.zero),
               most = _mm512_set1_ps(b.scores.high - b.scores.zero);
  const __m512i own = _mm512_set1_epi32(row.own), zero = _mm512_set1_epi32(row.query_zero);
  __m512 top = low;
  for (int64_t j = 0; j < row.wide; j += kSide) {
    const __m512i sums = _mm512_load_si512(row.scores + j), keys = _mm512_loadu_si512(row.keys + j);
    const __m512 x = _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_sub_epi32(sums, _mm512_mullo_epi32(keys, zero)), own));
    __m512 s;
    if (rounds) {
      const __m512 whole = _mm512_roundscale_ps(_mm512_mul_ps(x, steps), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      s = _mm512_mul_ps(_mm512_max_ps(least, _mm512_min_ps(most, whole)), grid);
    } else {
      s = _mm512_mul_ps(x, scale);
    }
    if (row.mask != nullptr) {
      const __m512 add = _mm512_loadu_ps(row.mask + j);
      s = _mm512_mask_mov_ps(_mm512_add_ps(s, add), _mm512_cmp_ps_mask(add, low, _CMP_EQ_OQ), low);
    }
    s = _mm512_mask_mov_ps(low, first_lanes(row.seen - j), s);
    _mm512_store_ps(row.scores + j, s);
    top = _mm512_max_ps(top, s);
  }
  return top;
}

// 2^t, and 0 below 2^-100; NaN stays NaN.
inline __m512 power(__m512 t) {
  const __mmask16 counts = _mm512_cmp_ps_mask(t, _mm512_set1_ps(-100), _CMP_NLT_UQ);
  return _mm512_maskz_mov_ps(counts, power_of_2<true>(t));
}

// Scores as rounded weights; their sum, and in `all` that of what was rounded. A row that sees nothing, or whose scores
// are no numbers, has none.
inline int32_t weigh(const ByteHead& b, const Row& row, float top, uint8_t* weights, float* all) {
  const __m512 shift = _mm512_set1_ps(top == kLow ? 0.0f : top * kLog2e), log2e = _mm512_set1_ps(kLog2e);
  __m512 sum = _mm512_setzero_ps();
  for (int64_t j = 0; j < row.wide; j += kSide) {
    const __m512 e = power(_mm512_fmsub_ps(_mm512_load_ps(row.scores + j), log2e, shift));
    _mm512_store_ps(row.scores + j, e);
    sum = _mm512_add_ps(sum, e);
  }
  *all = _mm512_reduce_add_ps(sum);
  const bool some = *all > 0;
  const __m512 steps = _mm512_set1_ps(some ? 1 / (*all * b.weights.scale) : 0), most = _mm512_set1_ps(b.weights.high);
  __m512i rounded = _mm512_setzero_si512();
  for (int64_t j = 0; j < row.wide; j += kSide) {
    const __m512 x = _mm512_min_ps(most, _mm512_mul_ps(_mm512_load_ps(row.scores + j), steps));
    const __m512i w = some ? _mm512_cvtps_epi32(x) : _mm512_setzero_si512();
    rounded = _mm512_add_epi32(rounded, w);
    _mm_store_si128(reinterpret_cast<__m128i*>(weights + j), _mm512_cvtepi32_epi8(w));
  }
  return _mm512_reduce_add_epi32(rounded);
}

template <int kM>
void attend(const ByteHead& b, Memory& m, int64_t first, int64_t count) {
  const int64_t deep = padded(b.size, kLine), wide = padded(b.keys, kLine), across = padded(b.v_size, kSide);
  const int64_t steps = deep / kLine, stride = score_stride(b.keys), apart = weight_stride(b.keys);
  copy_queries(b, m, first, count);
  all_columns<QuadsOfBytes, kM>({m.queries, m.keys, deep, kTile, steps * kTile, steps, m.sums, stride}, wide / kSide);
  const int32_t q_zero = b.q_zero + (b.q_signed ? 128 : 0), k_zero = b.k_zero - (b.k_signed ? 0 : 128);
  int32_t rounded[kRows];
  for (int64_t r = 0; r < count; ++r) {
    Row row{reinterpret_cast<float*>(m.sums + r * stride), m.key_sums, nullptr, wide, b.keys, 0, q_zero};
    row.own = static_cast<int32_t>(b.size) * q_zero * k_zero - k_zero * m.query_sums[r];
    if (b.mask != nullptr) row.mask = b.mask->row(first + r, 0, b.keys, m.mask);
    if (b.causal) row.seen = std::min(b.keys, b.first + first + r + 1);
    const float top = _mm512_reduce_max_ps(score_row(b, row));
    rounded[r] = weigh(b, row, top, m.weights + r * apart, b.sum + first + r);
  }
  auto* const results = reinterpret_cast<int32_t*>(m.results);
  all_columns<QuadsOfBytes, kM>({m.weights, m.values, apart, across * kLine, kTile, wide / kLine, results, across},
                                across / kSide);
  const int32_t v_zero = b.v_zero - (b.v_signed ? 0 : 128);
  for (int64_t r = 0; r < count; ++r) {
    const __m512i less = _mm512_set1_epi32(v_zero * rounded[r]);
    for (int64_t e = 0; e < b.v_size; e += kSide)
      _mm512_mask_storeu_ps(b.out + (first + r) * b.v_size + e, first_lanes(b.v_size - e),
                            _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_load_si512(results + r * across + e), less)));
  }
}

void attend_all(const ByteHead& b) {
  Memory m(b);
  const Tiles tiles(kSide);
  std::memset(m.weights, 0, static_cast<size_t>(kRows * weight_stride(b.keys)));  // of rows that are not there, too
  std::memset(m.mask, 0, static_cast<size_t>(padded(b.keys, kLine)) * sizeof(float));
  pack_keys(b, m);
  pack_values(b, m);
  for (int64_t first = 0; first < b.queries; first += kRows) {
    const int64_t count = std::min(kRows, b.queries - first);
    if (count > kSide)
      attend<2>(b, m, first, count);
    else
      attend<1>(b, m, first, count);
  }
}

}  // namespace

const ByteTiles kByteTiles{Memory::elements, attend_all};

}  // namespace wootz::cpu
