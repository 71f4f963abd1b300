// The row of weight_only_digits.h.
#include <immintrin.h>

#include <algorithm>

#include "backends/cpu/dense/weight_only_digits.h"
#include "backends/cpu/simd/lanes_avx512_inl.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kVectors = kNarrowPanel / kLanes, kAhead = 2048;  // bytes that are on their way

// What stands for 0, and how many steps 1 is.
constexpr int middle(DType type) { return type == DType::kU4 ? 0 : type == DType::kI4 ? 8 : 12; }
constexpr float steps(DType type) { return type == DType::kF4E2M1 ? 2 : 1; }

// Weights as integers from 0 on: of a group's even elements, or of its odd ones. Those of E2M1 are looked up.
template <DType kType>
inline __m512i unpacked(__m512i bits) {
  const __m512i low = _mm512_set1_epi8(15), eight = _mm512_set1_epi8(kType == DType::kI4 ? 8 : 0);
  if constexpr (kType == DType::kF4E2M1) {
    const __m128i doubled = _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(doubled), _mm512_and_si512(bits, low));
  }
  return _mm512_ternarylogic_epi32(bits, low, eight, 0x6a);  // (bits & low) ^ eight
}

template <bool kSigned>
inline __m512 zero_points(const uint8_t* zero) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(zero));
  return _mm512_cvtepi32_ps(kSigned ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes));
}

// As of weight_only_tile.cpp.
inline __m512 scales_at(const NarrowGrid& grid, int64_t at) {
  if (grid.kind == NarrowScale::kF32) return _mm512_loadu_ps(static_cast<const float*>(grid.scale) + at);
  const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(static_cast<const uint8_t*>(grid.scale) + at));
  __m512 values;
  if (grid.kind == NarrowScale::kE4M3) {
    const __m256i bits = _mm256_slli_epi16(_mm256_cvtepi8_epi16(codes), 7);
    values = _mm512_cvtph_ps(_mm256_and_si256(bits, _mm256_set1_epi16(static_cast<int16_t>(0xbf80))));
  } else {
    const __m512i bits = _mm512_slli_epi32(_mm512_cvtepu8_epi32(codes), 23);
    values = _mm512_castsi512_ps(_mm512_max_epu32(bits, _mm512_set1_epi32(0x400000)));
  }
  return _mm512_mul_ps(values, _mm512_set1_ps(grid.factor));
}

struct Sums {
  __m512i of[kVectors][kDigitPlanes][2];  // by halves, which do not wait for one another
};

template <DType kType>
inline void add_group(const uint8_t* group, const int8_t* digits, Sums* sums) {
#pragma GCC unroll 2
  for (int64_t line = 0; line < kVectors; ++line)
    _mm_prefetch(reinterpret_cast<const char*>(group) + kAhead + line * 64, _MM_HINT_T0);
  __m512i w[kVectors][2];
#pragma GCC unroll 2
  for (int64_t v = 0; v < kVectors; ++v) {
    const __m512i bits = _mm512_loadu_si512(group + v * 64);
    w[v][0] = unpacked<kType>(bits);
    w[v][1] = unpacked<kType>(_mm512_srli_epi32(bits, 4));
  }
#pragma GCC unroll 3
  for (int64_t p = 0; p < kDigitPlanes; ++p)
#pragma GCC unroll 2
    for (int64_t half = 0; half < 2; ++half) {
      const __m512i x = four_in_all(digits + p * kNarrowGroup + half * 4);
#pragma GCC unroll 2
      for (int64_t v = 0; v < kVectors; ++v)
        sums->of[v][p][half] = _mm512_dpbusd_epi32(sums->of[v][p][half], w[v][half], x);
    }
}

inline __m512 joined(const __m512i (&of)[kDigitPlanes][2]) {
  __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 3
  for (int64_t p = 0; p < kDigitPlanes; ++p)
    sum = _mm512_fmadd_ps(sum, _mm512_set1_ps(256), _mm512_cvtepi32_ps(_mm512_add_epi32(of[p][0], of[p][1])));
  return sum;
}

template <DType kType>
void row(const NarrowRows& t, const RowDigits& x) {
  const uint8_t* group = t.weights;
  const int8_t* digits = x.digits;
  for (int64_t first = 0, block = 0; first < t.depth; first += t.grid.block, ++block) {
    Sums sums;
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; ++v)
#pragma GCC unroll 3
      for (int64_t p = 0; p < kDigitPlanes; ++p) sums.of[v][p][0] = sums.of[v][p][1] = _mm512_setzero_si512();
    const int64_t groups = std::min(t.grid.block, t.depth - first) / kNarrowGroup;
    for (int64_t g = 0; g < groups; ++g, group += kNarrowPanel * 4, digits += kDigitPlanes * kNarrowGroup)
      add_group<kType>(group, digits, &sums);
    const __m512 unit = _mm512_set1_ps(x.unit[block] / steps(kType));
    const __m512 of_row = _mm512_set1_ps(x.sum[block]);
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; ++v) {
      const int64_t at = block * t.grid.stride + v * kLanes;
      __m512 zero = _mm512_set1_ps(middle(kType) / steps(kType));
      if (t.grid.zero != nullptr) zero = _mm512_add_ps(zero, zero_points<kType == DType::kI4>(t.grid.zero + at));
      const __m512 sum = _mm512_fnmadd_ps(zero, of_row, _mm512_mul_ps(joined(sums.of[v]), unit));
      const __m512 scale = scales_at(t.grid, at);
      float* const to = t.out + v * kLanes;
      _mm512_storeu_ps(to, block == 0 ? _mm512_mul_ps(sum, scale) : _mm512_fmadd_ps(sum, scale, _mm512_loadu_ps(to)));
    }
  }
}

constexpr float kLargest = 127 * 65536;  // a first digit of 127 and what may carry into it

// False: they are too small, or no numbers. (Of a NaN the comparison is false.)
bool largest_of(const float* x, int64_t count, float* most) {
  constexpr float kLeast = 1e-25f;  // below which units come near to subnormal numbers
  __m512 all = _mm512_setzero_ps();
  __mmask16 numbers = 0xffff;
  for (int64_t k = 0; k < count; k += kLanes) {
    const __m512 v = _mm512_abs_ps(_mm512_maskz_loadu_ps(first_lanes(count - k), x + k));
    numbers = _kand_mask16(numbers, _mm512_cmp_ps_mask(v, _mm512_set1_ps(3.0e38f), _CMP_LT_OQ));
    all = _mm512_max_ps(all, v);
  }
  *most = _mm512_reduce_max_ps(all);
  return numbers == 0xffff && (*most == 0 || *most >= kLeast);
}

// The lowest eight bits with their sign; the rest is divided by 256.
inline __m512i next_digit(__m512i* n) {
  const __m512i low = _mm512_srai_epi32(_mm512_slli_epi32(*n, 24), 24);
  *n = _mm512_srai_epi32(_mm512_sub_epi32(*n, low), 8);
  return low;
}

// Two groups of a plane, or one.
inline void store_digits(__m512i values, bool both, int8_t* to) {
  const __m128i order = _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
  const __m128i bytes = _mm_shuffle_epi8(_mm512_cvtepi32_epi8(values), order);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
  if (both)
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + kDigitPlanes * kNarrowGroup), _mm_unpackhi_epi64(bytes, bytes));
}

// The values' sum, in units.
int64_t split_block(const float* x, int64_t count, float inverse, int8_t* digits) {
  __m512i sum = _mm512_setzero_si512();
  for (int64_t k = 0; k < count; k += kLanes, digits += 2 * kDigitPlanes * kNarrowGroup) {
    const __m512 v = _mm512_maskz_loadu_ps(first_lanes(count - k), x + k);
    __m512i n = _mm512_cvtps_epi32(_mm512_mul_ps(v, _mm512_set1_ps(inverse)));
    sum = _mm512_add_epi64(sum, _mm512_cvtepi32_epi64(_mm512_castsi512_si256(n)));
    sum = _mm512_add_epi64(sum, _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(n, 1)));
    const bool both = count - k > kNarrowGroup;
    for (int64_t p = kDigitPlanes - 1; p >= 0; --p) store_digits(next_digit(&n), both, digits + p * kNarrowGroup);
  }
  return _mm512_reduce_add_epi64(sum);
}

}  // namespace

bool split_row(const float* x, int64_t depth, int64_t block, const RowDigits& to) {
  for (int64_t first = 0, b = 0; first < depth; first += block, ++b) {
    const int64_t count = std::min(block, depth - first);
    float most = 0;
    if (!largest_of(x + first, count, &most)) return false;
    to.unit[b] = most / kLargest;
    const int64_t sum = split_block(x + first, count, most > 0 ? kLargest / most : 0, to.digits + first * kDigitPlanes);
    to.sum[b] = static_cast<float>(static_cast<double>(sum) * to.unit[b]);
  }
  return true;
}

void narrow_row_by_digits(const NarrowRows& rows, const RowDigits& x, DType weights) {
  if (weights == DType::kF4E2M1)
    row<DType::kF4E2M1>(rows, x);
  else if (weights == DType::kI4)
    row<DType::kI4>(rows, x);
  else
    row<DType::kU4>(rows, x);
}

}  // namespace wootz::cpu
