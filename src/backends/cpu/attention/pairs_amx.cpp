#include "backends/cpu/attention/pairs.h"
#include "backends/cpu/simd/tiles_inl.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kSide = 16, kPairs = 16;  // rows and columns of a tile of sums, and pairs of a tile's line

struct Block {
  const uint16_t *a, *b;
  float* c;
  int64_t lda, ldb, ldc, pairs;
  bool accumulate;
};

template <int kTile>
void begin(const Block& t, int64_t row, int64_t column) {
  if (t.accumulate)
    tile_load<kTile>(t.c + row * t.ldc + column, t.ldc * 4);
  else
    tile_zero<kTile>();
}
template <int kTile>
void end(const Block& t, int64_t row, int64_t column) {
  tile_store<kTile>(t.c + row * t.ldc + column, t.ldc * 4);
}

// kM x kN tiles: sums in 0 to 3, rows in 4 and 5, columns in 6 and 7.
template <int kM, int kN>
void block(const Block& t) {
  begin<0>(t, 0, 0);
  if constexpr (kN > 1) begin<1>(t, 0, kSide);
  if constexpr (kM > 1) begin<2>(t, kSide, 0);
  if constexpr (kM > 1 && kN > 1) begin<3>(t, kSide, kSide);
  for (int64_t p = 0; p < t.pairs; p += kPairs) {
    tile_load<4>(t.a + 2 * p, t.lda * 2);
    if constexpr (kM > 1) tile_load<5>(t.a + kSide * t.lda + 2 * p, t.lda * 2);
    tile_load<6>(t.b + p * t.ldb, t.ldb * 2);
    if constexpr (kN > 1) tile_load<7>(t.b + p * t.ldb + 2 * kSide, t.ldb * 2);
    tile_dot_bf16<0, 4, 6>();
    if constexpr (kN > 1) tile_dot_bf16<1, 4, 7>();
    if constexpr (kM > 1) tile_dot_bf16<2, 5, 6>();
    if constexpr (kM > 1 && kN > 1) tile_dot_bf16<3, 5, 7>();
  }
  end<0>(t, 0, 0);
  if constexpr (kN > 1) end<1>(t, 0, kSide);
  if constexpr (kM > 1) end<2>(t, kSide, 0);
  if constexpr (kM > 1 && kN > 1) end<3>(t, kSide, kSide);
}

template <int kM>
void all_columns(Block t, int64_t n) {
  for (; n >= 2 * kSide; n -= 2 * kSide, t.b += 4 * kSide, t.c += 2 * kSide) block<kM, 2>(t);
  if (n > 0) block<kM, 1>(t);
}

// Rows that fill no tile are left to vectors.
void multiply(const uint16_t* a, int64_t lda, const uint16_t* b, int64_t ldb, float* c, int64_t ldc, int64_t m,
              int64_t n, int64_t pairs, bool accumulate) {
  const auto at = [&](int64_t i) { return Block{a + i * lda, b, c + i * ldc, lda, ldb, ldc, pairs, accumulate}; };
  int64_t i = 0;
  {
    const Tiles tiles(kSide);
    for (; i + 2 * kSide <= m; i += 2 * kSide) all_columns<2>(at(i), n);
    for (; i + kSide <= m; i += kSide) all_columns<1>(at(i), n);
  }
  if (i < m) kPairOps.multiply(a + i * lda, lda, b, ldb, c + i * ldc, ldc, m - i, n, pairs, accumulate);
}

}  // namespace

const TilePairs kTilePairs{multiply};

}  // namespace wootz::cpu
