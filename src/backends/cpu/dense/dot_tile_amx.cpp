// Tiles of AMX: the products of amx_tile.h.
#include <immintrin.h>

#include <algorithm>

#include "backends/cpu/dense/amx_finish_inl.h"
#include "backends/cpu/dense/amx_tile.h"
#include "backends/cpu/simd/tiles_inl.h"

namespace wootz::cpu {
namespace {

struct Operands {
  const char* rows[2];
  const char* weights;
  const char* ahead;  // weights that will be wanted, and how many lines of them to fetch at each step
  int64_t ahead_lines;
  const int32_t* start;
};

template <AmxSums kType, int kTo, int kRows, int kWeights>
inline void dot() {
  if constexpr (kType == AmxSums::kU8) tile_dot_u8_i8<kTo, kRows, kWeights>();
  if constexpr (kType == AmxSums::kI8) tile_dot_i8_i8<kTo, kRows, kWeights>();
  if constexpr (kType == AmxSums::kBf16) tile_dot_bf16<kTo, kRows, kWeights>();
}

template <int kTile>
inline void begin(const int32_t* start) {
  if (start != nullptr)
    tile_load<kTile>(start, 0);  // one line for all rows
  else
    tile_zero<kTile>();
}

// kM x kN tiles of sums: tiles 0 to 3, rows in 4 and 5, weights in 6 and 7.
template <AmxSums kType, int kM, int kN>
void multiply(const AmxUnit& u, const Operands& o, Finish finish, int32_t* sums, Pending* pending) {
  begin<0>(o.start);
  if constexpr (kN > 1) begin<1>(o.start == nullptr ? nullptr : o.start + kAmxColumns);
  if constexpr (kM > 1) begin<2>(o.start);
  if constexpr (kM > 1 && kN > 1) begin<3>(o.start == nullptr ? nullptr : o.start + kAmxColumns);
  constexpr int64_t kLeastPairs = 8;  // for which it is worth to begin
  const int64_t steps = u.num_taps * u.lines, quota = std::max(kLeastPairs, (pending->rows / 2 + steps) / steps);
  const char *w = o.weights, *ahead = o.ahead;
  for (int64_t tap = 0; tap < u.num_taps; ++tap) {
    const int64_t at = u.taps[tap];
    for (int64_t l = at; l < at + u.lines * kAmxLine; l += kAmxLine, w += kN * kAmxTileBytes) {
      tile_load<4>(o.rows[0] + l, u.stride);
      if constexpr (kM > 1) tile_load<5>(o.rows[1] + l, u.stride);
      tile_load<6>(w, kAmxLine);
      if constexpr (kN > 1) tile_load<7>(w + kAmxTileBytes, kAmxLine);
      dot<kType, 0, 4, 6>();
      if constexpr (kN > 1) dot<kType, 1, 4, 7>();
      if constexpr (kM > 1) dot<kType, 2, 5, 6>();
      if constexpr (kM > 1 && kN > 1) dot<kType, 3, 5, 7>();
      for (int64_t i = 0; i < o.ahead_lines; ++i, ahead += kAmxLine) _mm_prefetch(ahead, _MM_HINT_T1);
      if (!pending->done()) finish(u, pending, quota);
    }
  }
  finish(u, pending, pending->rows);
  constexpr int kStride = kAmxPanel * sizeof(int32_t);
  tile_store<0>(sums, kStride);
  if constexpr (kN > 1) tile_store<1>(sums + kAmxColumns, kStride);
  if constexpr (kM > 1) tile_store<2>(sums + u.tile_rows * kAmxPanel, kStride);
  if constexpr (kM > 1 && kN > 1) tile_store<3>(sums + u.tile_rows * kAmxPanel + kAmxColumns, kStride);
}

// One block: rows of two tiles, or of a last one, by a panel of one tile or two.
template <AmxSums kType>
void multiply(const AmxUnit& u, const Operands& o, bool two, bool wide, Finish finish, int32_t* sums,
              Pending* pending) {
  if (two && wide) return multiply<kType, 2, 2>(u, o, finish, sums, pending);
  if (two) return multiply<kType, 2, 1>(u, o, finish, sums, pending);
  if (wide) return multiply<kType, 1, 2>(u, o, finish, sums, pending);
  multiply<kType, 1, 1>(u, o, finish, sums, pending);
}

// Panels that take turns for each block of rows: their weights stay in the first-level cache, and the results of two
// are a whole line of memory.
int64_t panels_together(int64_t panel_bytes) {
  constexpr int64_t kTogether = 32 * 1024;
  return std::max<int64_t>(1, kTogether / panel_bytes);
}

template <AmxSums kType>
void run(const AmxUnit& u) {
  alignas(64) int32_t sums[2][2 * 16 * kAmxPanel];
  const Tiles tiles(u.tile_rows);
  const int64_t full = u.num_rows / u.tile_rows, all = (u.num_rows + u.tile_rows - 1) / u.tile_rows;
  const int64_t blocks = (all + 1) / 2, steps = u.num_taps * u.lines, tile_bytes = u.tile_rows * u.stride;
  const int64_t panel_bytes = steps * 2 * kAmxTileBytes, together = panels_together(panel_bytes) * kAmxPanel;
  const Finish finish = finish_of<kType != AmxSums::kBf16>(u);
  Pending pending;
  int which = 0;
  for (int64_t first = 0; first < u.columns; first += together) {
    const int64_t last = std::min(u.columns, first + together);
    Operands o{};
    // While these panels are multiplied, the next ones come closer.
    o.ahead = u.weights + (first + together) / kAmxPanel * panel_bytes;
    o.ahead_lines = last == u.columns ? 0 : (2 * kAmxTileBytes / kAmxLine + blocks - 1) / blocks;
    for (int64_t t = 0; t < all; t += 2) {
      for (int64_t i = 0; i < 2 && t + i < all; ++i)
        o.rows[i] = t + i >= full ? u.tail : u.rows + (u.starts != nullptr ? u.starts[t + i] : (t + i) * tile_bytes);
      for (int64_t c = first; c < last; c += kAmxPanel, which ^= 1) {
        o.weights = u.weights + c / kAmxPanel * panel_bytes;
        o.start = u.start == nullptr ? nullptr : u.start + c;
        multiply<kType>(u, o, t + 1 < all, u.columns - c > kAmxColumns, finish, sums[which], &pending);
        o.ahead += steps * o.ahead_lines * kAmxLine;
        const int64_t row = t * u.tile_rows;
        pending = {sums[which], row, std::min(2 * u.tile_rows, u.num_rows - row), c, 0};
      }
    }
  }
  finish(u, &pending, pending.rows);
}

}  // namespace

void amx_unit(const AmxUnit& u) {
  switch (u.type) {
    case AmxSums::kU8: return run<AmxSums::kU8>(u);
    case AmxSums::kI8: return run<AmxSums::kI8>(u);
    case AmxSums::kBf16: return run<AmxSums::kBf16>(u);
  }
}

}  // namespace wootz::cpu
