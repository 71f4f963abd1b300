#include <immintrin.h>

#include <algorithm>
#include <limits>

#include "backends/cpu/attention/head_tiles.h"
#include "backends/cpu/attention/tile_sums_inl.h"
#include "backends/cpu/dense/activation_avx512_inl.h"
#include "backends/cpu/simd/lanes_avx512_inl.h"
#include "backends/cpu/simd/tiles_inl.h"
#include "backends/cpu/simd/turn_avx512_inl.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kSide = 16, kStep = 32;  // rows and columns of a tile of sums; elements of a tile's line
constexpr int64_t kTile = kSide * kStep;
constexpr int64_t kRows = kHeadRows, kKeys = 128;  // at a time
constexpr int64_t kScoreStride = kKeys + 16,
                  kWeightStride = kKeys + 32;  // no two neighbours in a set of the first cache
constexpr float kLow = -std::numeric_limits<float>::infinity(), kLog2e = 1.44269504f;

int64_t padded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Not the library's: what the compiler does not put in place would be shared with files for other processors.
template <class T>
void fill(T* to, int64_t n, T value) {
  for (int64_t i = 0; i < n; ++i) to[i] = value;
}

struct Memory {
  uint16_t *keys, *values, *weights, *last;  // `last`: the last rows of queries, filled up
  float *scores, *mask, *top;
  static int64_t elements(int64_t queries, int64_t size, int64_t v_size) {
    return kKeys * (size + v_size) / 2 + kRows * (kWeightStride + size) / 2 + kRows * kScoreStride + kKeys +
           head_rows(queries);
  }
  explicit Memory(const HeadBlock& b) {
    float* at = b.memory;
    const auto take = [&at](int64_t n) {
      float* const from = at;
      at += n;
      return from;
    };
    keys = reinterpret_cast<uint16_t*>(take(kKeys * b.size / 2));
    values = reinterpret_cast<uint16_t*>(take(kKeys * b.v_size / 2));
    weights = reinterpret_cast<uint16_t*>(take(kRows * kWeightStride / 2));
    last = reinterpret_cast<uint16_t*>(take(kRows * b.size / 2));
    scores = take(kRows * kScoreStride);
    mask = take(kKeys);
    top = take(head_rows(b.queries));
  }
};

// Keys [t, t + n) as tiles of columns: [16 keys][32 elements], of which a line has a pair of each key.
void pack_keys(const HeadBlock& b, int64_t t, int64_t n, uint16_t* to) {
  for (int64_t j = 0; j < padded(n, kStep); j += kSide) {
    for (int64_t e = 0; e < b.size; e += kStep, to += kTile) {
      __m512i r[16];
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i)
        r[i] = j + i < n ? _mm512_loadu_si512(b.k + (t + j + i) * b.k_row + e) : _mm512_setzero_si512();
      turn(r);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) _mm512_store_si512(to + i * kStep, r[i]);
    }
  }
}

// Values of the same keys: [32 keys][16 elements], of which a line has a pair of keys for each element.
void pack_values(const HeadBlock& b, int64_t t, int64_t n, uint16_t* to) {
  alignas(64) uint16_t order[2][kStep];
  for (uint16_t i = 0; i < kSide; ++i)
    for (uint16_t half = 0; half < 2; ++half) {
      order[half][2 * i] = static_cast<uint16_t>(half * kSide + i);
      order[half][2 * i + 1] = static_cast<uint16_t>(kStep + half * kSide + i);
    }
  const __m512i low = _mm512_load_si512(order[0]), high = _mm512_load_si512(order[1]);
  for (int64_t j = 0; j < padded(n, kStep); j += 2) {
    uint16_t* const line = to + j / kStep * b.v_size * kStep + j % kStep / 2 * kStep;
    for (int64_t e = 0; e < b.v_size; e += kStep) {
      const bool two = e + kSide < b.v_size;
      const __mmask32 mask = two ? 0xffffffff : 0xffff;
      const auto row = [&](int64_t i) {
        return i < n ? _mm512_maskz_loadu_epi16(mask, b.v + (t + i) * b.v_row + e) : _mm512_setzero_si512();
      };
      const __m512i first = row(j), second = row(j + 1);
      _mm512_store_si512(line + e / kSide * kTile, _mm512_permutex2var_epi16(first, low, second));
      if (two) _mm512_store_si512(line + (e / kSide + 1) * kTile, _mm512_permutex2var_epi16(first, high, second));
    }
  }
}

// A row's scores as they are read: in powers of two, or with kMasked of e, to which the mask is added as it is.
struct Row {
  const float* scores;
  const float* mask;  // null: nothing is added
  int64_t seen;       // keys of these
  __m512 scale;
};
template <int kVectors, bool kMasked>
inline void read(const Row& row, __m512 (&v)[kVectors]) {
  const __m512 low = _mm512_set1_ps(kLow);
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) v[i] = _mm512_mul_ps(_mm512_load_ps(row.scores + i * kSide), row.scale);
  if (kMasked && row.mask != nullptr) {
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) {
      const __m512 m = _mm512_loadu_ps(row.mask + i * kSide);
      v[i] = _mm512_mask_mov_ps(_mm512_add_ps(v[i], m), _mm512_cmp_ps_mask(m, low, _CMP_EQ_OQ), low);
    }
  }
  if (row.seen < kVectors * kSide) {
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) {
      v[i] = _mm512_mask_mov_ps(low, first_lanes(row.seen - i * kSide), v[i]);
    }
  }
}

// 2^t, and 0 below 2^-100; NaN stays NaN. Right to 2^-13, where BF16 keeps 2^-9.
template <bool kMasked>
inline __m512 weight(__m512 t) {
  if constexpr (kMasked) t = _mm512_mul_ps(t, _mm512_set1_ps(kLog2e));
  const __mmask16 counts = _mm512_cmp_ps_mask(t, _mm512_set1_ps(-100), _CMP_NLT_UQ);
  return _mm512_maskz_mov_ps(counts, power_of_2<false>(t));
}

struct Known {
  float *top, *sum, *out;  // of a row so far
  int64_t v_size;
  bool is_first;
};

// A row's scores as weights relative to the largest so far; what is known of the row on the same terms.
template <int kVectors, bool kMasked>
inline void weigh(const Row& row, const Known& k, uint16_t* weights) {
  __m512 v[kVectors];
  read<kVectors, kMasked>(row, v);
  __m512 most = v[0];
#pragma GCC unroll 8
  for (int i = 1; i < kVectors; ++i) most = _mm512_max_ps(most, v[i]);
  const float here = _mm512_reduce_max_ps(most), before = *k.top, now = here > before ? here : before;
  const __m512 shift = _mm512_set1_ps(now == kLow ? 0.0f : now);
  __m512 sum[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) {
    v[i] = weight<kMasked>(_mm512_sub_ps(v[i], shift));
    sum[i % 2] = _mm512_add_ps(sum[i % 2], v[i]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; i += 2)
    _mm512_store_si512(weights + i * kSide, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(v[i + 1], v[i])));
  const float own = _mm512_reduce_add_ps(_mm512_add_ps(sum[0], sum[1]));
  *k.top = now;
  if (k.is_first) {
    *k.sum = own;
    return;
  }
  const __m512 keep = before == now ? _mm512_set1_ps(1) : weight<kMasked>(_mm512_set1_ps(before - now));
  *k.sum = *k.sum * _mm512_cvtss_f32(keep) + own;
  if (before == now) return;
  for (int64_t e = 0; e < k.v_size; e += kSide)
    _mm512_storeu_ps(k.out + e, _mm512_mul_ps(_mm512_loadu_ps(k.out + e), keep));
}

// A block of keys, and rows [first, first + count) of the queries.
struct Part {
  int64_t t, n, first, count;
};

template <int kVectors, bool kMasked>
void weigh_rows(const HeadBlock& b, const Memory& m, const Part& p) {
  Row row{m.scores, nullptr, p.n, _mm512_set1_ps(kMasked ? b.scale : b.scale * kLog2e)};
  Known known{m.top + p.first, b.sum + p.first, b.out + p.first * b.v_size, b.v_size, p.t == 0};
  uint16_t* weights = m.weights;
  for (int64_t r = 0; r < p.count; ++r) {
    if constexpr (kMasked) row.mask = b.mask->row(p.first + r, p.t, p.n, m.mask);
    if (b.causal) row.seen = std::min(p.n, b.first + p.first + r + 1 - p.t);
    weigh<kVectors, kMasked>(row, known, weights);
    row.scores += kScoreStride;
    weights += kWeightStride;
    ++known.top;
    ++known.sum;
    known.out += b.v_size;
  }
}

template <bool kMasked>
void weigh_all(const HeadBlock& b, const Memory& m, const Part& p) {
  switch ((p.n + kStep - 1) / kStep) {
    case 1: return weigh_rows<2, kMasked>(b, m, p);
    case 2: return weigh_rows<4, kMasked>(b, m, p);
    case 3: return weigh_rows<6, kMasked>(b, m, p);
    default: return weigh_rows<8, kMasked>(b, m, p);
  }
}

template <int kM>
void attend(const HeadBlock& b, const Memory& m, const Part& p) {
  const uint16_t* queries = b.q + p.first * b.q_row;
  int64_t stride = b.q_row;
  if (p.count < kM * kSide) {  // what a tile reads is to be there
    for (int64_t r = 0; r < kM * kSide; ++r) {
      for (int64_t e = 0; e < b.size; e += kStep)
        _mm512_store_si512(m.last + r * b.size + e,
                           r < p.count ? _mm512_loadu_si512(queries + r * stride + e) : _mm512_setzero_si512());
    }
    queries = m.last;
    stride = b.size;
  }
  const int64_t wide = padded(p.n, kStep), steps = b.size / kStep, tiles = b.v_size / kSide;
  all_columns<PairsOfBf16, kM>({queries, m.keys, stride, kTile, steps * kTile, steps, m.scores, kScoreStride, false},
                               wide / kSide);
  if (b.mask != nullptr)
    weigh_all<true>(b, m, p);
  else
    weigh_all<false>(b, m, p);
  all_columns<PairsOfBf16, kM>({m.weights, m.values, kWeightStride, tiles * kTile, kTile, wide / kStep,
                                b.out + p.first * b.v_size, b.v_size, p.t > 0},
                               tiles);
}

void attend_all(const HeadBlock& b) {
  const Memory m(b);
  const Tiles tiles(kSide);
  fill(m.top, head_rows(b.queries), kLow);
  fill(m.weights, kRows * kWeightStride, uint16_t{0});  // of rows that are not there, too
  fill(m.mask, kKeys, 0.0f);
  const int64_t seen = b.causal ? std::min(b.keys, b.first + b.queries) : b.keys;
  for (int64_t t = 0; t < seen; t += kKeys) {
    Part p{t, std::min(kKeys, seen - t), 0, 0};
    pack_keys(b, t, p.n, m.keys);
    pack_values(b, t, p.n, m.values);
    for (; p.first < b.queries; p.first += kRows) {
      p.count = std::min(kRows, b.queries - p.first);
      if (b.causal && b.first + p.first + p.count <= t) continue;
      if (p.count > kSide)
        attend<2>(b, m, p);
      else
        attend<1>(b, m, p);
    }
  }
}

void divide(const HeadBlock& b, uint16_t* to, int64_t stride) {
  for (int64_t r = 0; r < b.queries; ++r) {
    const float* const from = b.out + r * b.v_size;
    const __m512 by = _mm512_set1_ps(1 / b.sum[r]);
    for (int64_t e = 0; e < b.v_size; e += kSide)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + r * stride + e),
                          reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_mul_ps(_mm512_loadu_ps(from + e), by))));
  }
}

}  // namespace

const HeadTiles kHeadTiles{Memory::elements, attend_all, divide};

}  // namespace wootz::cpu
