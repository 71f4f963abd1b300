#include "backends/cpu/move/transpose_block.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/move/transpose_words.h"
#include "base/cpu_info.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#include <xmmintrin.h>
#endif
#if defined(__SSSE3__)
#include <tmmintrin.h>
#endif

namespace wootz::cpu {
namespace {

constexpr int64_t kBlock = 32;

template <class T>
void plain(const char* in, int64_t is, char* out, int64_t os, int64_t rows, int64_t columns) {
  constexpr auto size = static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) std::memcpy(out + (i * os + j) * size, in + (j * is + i) * size, sizeof(T));
}

// The channels of an image beside each other, of planes that are whole each: too few for a tile.
template <int64_t kColumns, class T>
void few(const char* in, int64_t is, char* out, int64_t os, int64_t rows) {
  constexpr auto size = static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < rows; ++i, in += size, out += os * size)
    for (int64_t j = 0; j < kColumns; ++j) std::memcpy(out + j * size, in + j * is * size, sizeof(T));
}

#if defined(__SSSE3__)
// Three planes of bytes without a gap between the results: sixteen positions are three vectors, to each of which each
// plane gives bytes. Gives the rows that were done.
int64_t three_planes(const char* in, int64_t is, char* out, int64_t rows) {
  __m128i picks[3][3];  // by result and plane
  for (int k = 0; k < 3; ++k)
    for (int j = 0; j < 3; ++j) {
      alignas(16) int8_t at[16];
      for (int b = 0; b < 16; ++b) at[b] = static_cast<int8_t>((16 * k + b) % 3 == j ? (16 * k + b) / 3 : -1);
      picks[k][j] = _mm_load_si128(reinterpret_cast<const __m128i*>(at));
    }
  int64_t i = 0;
  for (; i + 16 <= rows; i += 16) {
    __m128i planes[3];
    for (int j = 0; j < 3; ++j) planes[j] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + j * is + i));
    for (int k = 0; k < 3; ++k) {
      __m128i mixed = _mm_shuffle_epi8(planes[0], picks[k][0]);
      for (int j = 1; j < 3; ++j) mixed = _mm_or_si128(mixed, _mm_shuffle_epi8(planes[j], picks[k][j]));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * i + 16 * k), mixed);
    }
  }
  return i;
}
#endif

#if defined(__SSE2__)
// As three_planes(), of four: what two and two planes give beside each other is put beside each other.
int64_t four_planes(const char* in, int64_t is, char* out, int64_t rows) {
  int64_t i = 0;
  for (; i + 16 <= rows; i += 16) {
    __m128i planes[4];
    for (int j = 0; j < 4; ++j) planes[j] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + j * is + i));
    for (int half = 0; half < 2; ++half) {
      const auto beside = [half](__m128i a, __m128i b) {
        return half == 0 ? _mm_unpacklo_epi8(a, b) : _mm_unpackhi_epi8(a, b);
      };
      const __m128i first = beside(planes[0], planes[1]), second = beside(planes[2], planes[3]);
      auto* const to = reinterpret_cast<__m128i*>(out + 4 * i + 32 * half);
      _mm_storeu_si128(to, _mm_unpacklo_epi16(first, second));
      _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(first, second));
    }
  }
  return i;
}
#endif

// kTile x kTile elements in registers.
template <class T>
struct Tile;

#if defined(__SSE2__)
template <>
struct Tile<uint32_t> {
  static constexpr int64_t kSize = 4;
  static void run(const char* in, int64_t is, char* out, int64_t os) {
    __m128 r[4];
    for (int j = 0; j < 4; ++j) r[j] = _mm_loadu_ps(reinterpret_cast<const float*>(in + j * is * 4));
    _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]);
    for (int i = 0; i < 4; ++i) _mm_storeu_ps(reinterpret_cast<float*>(out + i * os * 4), r[i]);
  }
};
template <>
struct Tile<uint16_t> {
  static constexpr int64_t kSize = 8;
  static void run(const char* in, int64_t is, char* out, int64_t os) {
    __m128i a[8], b[8];
    for (int j = 0; j < 8; ++j) a[j] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + j * is * 2));
    for (int k = 0; k < 4; ++k) {
      b[2 * k] = _mm_unpacklo_epi16(a[2 * k], a[2 * k + 1]);
      b[2 * k + 1] = _mm_unpackhi_epi16(a[2 * k], a[2 * k + 1]);
    }
    for (int k = 0; k < 2; ++k)
      for (int h = 0; h < 2; ++h) {
        a[4 * k + 2 * h] = _mm_unpacklo_epi32(b[4 * k + h], b[4 * k + 2 + h]);
        a[4 * k + 2 * h + 1] = _mm_unpackhi_epi32(b[4 * k + h], b[4 * k + 2 + h]);
      }
    for (int k = 0; k < 4; ++k) {
      const __m128i low = _mm_unpacklo_epi64(a[k], a[4 + k]), high = _mm_unpackhi_epi64(a[k], a[4 + k]);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * k * os * 2), low);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + (2 * k + 1) * os * 2), high);
    }
  }
};
template <>
struct Tile<uint8_t> {
  static constexpr int64_t kSize = 8;
  static void run(const char* in, int64_t is, char* out, int64_t os) {
    __m128i a[8];
    for (int j = 0; j < 8; ++j) a[j] = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + j * is));
    __m128i b[4], c[4];
    for (int k = 0; k < 4; ++k) b[k] = _mm_unpacklo_epi8(a[2 * k], a[2 * k + 1]);
    for (int k = 0; k < 2; ++k) {
      c[2 * k] = _mm_unpacklo_epi16(b[2 * k], b[2 * k + 1]);
      c[2 * k + 1] = _mm_unpackhi_epi16(b[2 * k], b[2 * k + 1]);
    }
    for (int h = 0; h < 2; ++h) {
      const __m128i r0 = _mm_unpacklo_epi32(c[h], c[2 + h]), r1 = _mm_unpackhi_epi32(c[h], c[2 + h]);
      const __m128i rows[4] = {r0, _mm_unpackhi_epi64(r0, r0), r1, _mm_unpackhi_epi64(r1, r1)};
      for (int k = 0; k < 4; ++k) _mm_storel_epi64(reinterpret_cast<__m128i*>(out + (4 * h + k) * os), rows[k]);
    }
  }
};
#endif

template <class T>
void block(const char* in, int64_t is, char* out, int64_t os, int64_t rows, int64_t columns) {
#if defined(__SSE2__)
  if constexpr (sizeof(T) < 8) {
    constexpr int64_t n = Tile<T>::kSize, size = sizeof(T);
    const int64_t full_rows = rows / n * n, full_columns = columns / n * n;
    for (int64_t i = 0; i < full_rows; i += n)
      for (int64_t j = 0; j < full_columns; j += n)
        Tile<T>::run(in + (j * is + i) * size, is, out + (i * os + j) * size, os);
    plain<T>(in + full_columns * is * size, is, out + full_columns * size, os, full_rows, columns - full_columns);
    plain<T>(in + full_rows * size, is, out + full_rows * os * size, os, rows - full_rows, columns);
    return;
  }
#endif
  plain<T>(in, is, out, os, rows, columns);
}

template <class T>
void plane(const char* in, int64_t is, char* out, int64_t os, int64_t rows, int64_t columns) {
  constexpr int64_t size = sizeof(T);
#if defined(__SSSE3__)
  if (sizeof(T) == 1 && columns == 3 && os == 3) {
    const int64_t done = three_planes(in, is, out, rows);
    in += done, out += done * os, rows -= done;
  }
#endif
#if defined(__SSE2__)
  if (sizeof(T) == 1 && columns == 4 && os == 4) {
    const int64_t done = four_planes(in, is, out, rows);
    in += done, out += done * os, rows -= done;
  }
#endif
  if (columns == 2) return few<2, T>(in, is, out, os, rows);
  if (columns == 3) return few<3, T>(in, is, out, os, rows);
  for (int64_t i = 0; i < rows; i += kBlock)
    for (int64_t j = 0; j < columns; j += kBlock)
      block<T>(in + (j * is + i) * size, is, out + (i * os + j) * size, os, std::min(kBlock, rows - i),
               std::min(kBlock, columns - j));
}

}  // namespace

void transpose_plane(const char* in, int64_t is, char* out, int64_t os, int64_t rows, int64_t columns, int bytes) {
  switch (bytes) {
    case 1: return plane<uint8_t>(in, is, out, os, rows, columns);
    case 2: return plane<uint16_t>(in, is, out, os, rows, columns);
    case 4:
      if (rows >= 8 && columns >= 8 && usable_isa() >= Isa::kAvx2)
        return transpose_words_avx2(reinterpret_cast<const float*>(in), is, reinterpret_cast<float*>(out), os, rows,
                                    columns);
      return plane<uint32_t>(in, is, out, os, rows, columns);
    default: return plane<uint64_t>(in, is, out, os, rows, columns);
  }
}

}  // namespace wootz::cpu
