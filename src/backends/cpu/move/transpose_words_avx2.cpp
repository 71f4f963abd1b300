// Elements of four bytes in tiles of eight by eight, in blocks whose results fill lines of the cache one after the
// other.
#include <immintrin.h>

#include <algorithm>

#include "backends/cpu/move/transpose_words.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kTile = 8, kRows = 16, kColumns = 64;

void tile(const float* in, int64_t is, float* out, int64_t os) {
  __m256 r[8], t[8];
  for (int j = 0; j < 8; ++j) r[j] = _mm256_loadu_ps(in + j * is);
  for (int k = 0; k < 4; ++k) {
    t[2 * k] = _mm256_unpacklo_ps(r[2 * k], r[2 * k + 1]);
    t[2 * k + 1] = _mm256_unpackhi_ps(r[2 * k], r[2 * k + 1]);
  }
  for (int h = 0; h < 8; h += 4) {
    r[h] = _mm256_shuffle_ps(t[h], t[h + 2], 0x44);
    r[h + 1] = _mm256_shuffle_ps(t[h], t[h + 2], 0xee);
    r[h + 2] = _mm256_shuffle_ps(t[h + 1], t[h + 3], 0x44);
    r[h + 3] = _mm256_shuffle_ps(t[h + 1], t[h + 3], 0xee);
  }
  for (int k = 0; k < 4; ++k) {
    _mm256_storeu_ps(out + k * os, _mm256_permute2f128_ps(r[k], r[4 + k], 0x20));
    _mm256_storeu_ps(out + (k + 4) * os, _mm256_permute2f128_ps(r[k], r[4 + k], 0x31));
  }
}

}  // namespace

// What is left of either extent is done with some of its neighbours again.
void transpose_words_avx2(const float* in, int64_t is, float* out, int64_t os, int64_t rows, int64_t columns) {
  for (int64_t i0 = 0; i0 < rows; i0 += kRows)
    for (int64_t j0 = 0; j0 < columns; j0 += kColumns) {
      const int64_t i1 = std::min(i0 + kRows, rows), j1 = std::min(j0 + kColumns, columns);
      for (int64_t i = i0; i < i1; i += kTile)
        for (int64_t j = j0; j < j1; j += kTile) {
          const int64_t row = std::min(i, rows - kTile), column = std::min(j, columns - kTile);
          tile(in + column * is + row, is, out + row * os + column, os);
        }
    }
}

}  // namespace wootz::cpu
