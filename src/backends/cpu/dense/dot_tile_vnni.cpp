// The products of amx_tile.h by VNNI: four bytes of a row, in all lanes, times four of each of 16 columns. Rows are of
// u8, weights as in vnni_pack.h.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "backends/cpu/dense/amx_tile.h"
#include "backends/cpu/dense/vnni_finish_inl.h"
#include "backends/cpu/dense/vnni_pack.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kQuad = 4, kQuads = kAmxLine / kQuad;  // bytes that are multiplied at once; of a line
constexpr int kTogether = 2;                             // of these, unrolled
constexpr int kVectors = kVnniHalf / kLanes;

struct Operands {
  const char* rows;
  const char* weights;
  const char* ahead;  // weights that will be wanted, and how many lines of them to fetch for each line of rows
  int64_t ahead_lines;
  const int32_t* start;  // what sums begin with; null: 0
};

// kM rows of half a panel: the sums stay in registers while everything that touches them is unrolled.
template <int kM>
struct Block {
  __m512i acc[kM][kVectors];
  const char* at[(kM + 2) / 3];  // rows 3 i: addresses have one register times 1 or 2 beside a base
  const char* weights;

  // Groups of four bytes.
  template <int kCount>
  __attribute__((always_inline)) void next(int64_t stride) {
#pragma GCC unroll 4
    for (int q = 0; q < kCount; ++q) {
      __m512i w[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) w[v] = _mm512_load_si512(weights + (q * kVectors + v) * kAmxLine);
#pragma GCC unroll 16
      for (int i = 0; i < kM; ++i) {
        const __m512i x = four_in_all(at[i / 3] + i % 3 * stride + q * kQuad);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) acc[i][v] = _mm512_dpbusd_epi32(acc[i][v], x, w[v]);
      }
    }
    weights += kCount * kVectors * kAmxLine;
#pragma GCC unroll 8
    for (int i = 0; i < kM; i += 3) at[i / 3] += kCount * kQuad;
  }
};

template <int kM>
void multiply(const AmxUnit& u, const Operands& o, int32_t* sums) {
  Block<kM> b;
  b.weights = o.weights;
  const char* ahead = o.ahead;
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const __m512i first = o.start == nullptr ? _mm512_setzero_si512() : _mm512_loadu_si512(o.start + v * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kM; ++i) b.acc[i][v] = first;
  }
  const int64_t stride = u.stride, full = u.lines - (u.last_quads < kQuads ? 1 : 0);
  for (int64_t tap = 0; tap < u.num_taps; ++tap) {
#pragma GCC unroll 8
    for (int i = 0; i < kM; i += 3) b.at[i / 3] = o.rows + u.taps[tap] + i * stride;
    for (int64_t l = 0; l < full; ++l) {
      for (int64_t q = 0; q < kQuads; q += kTogether) b.template next<kTogether>(stride);
      for (int64_t i = 0; i < o.ahead_lines; ++i, ahead += kAmxLine) _mm_prefetch(ahead, _MM_HINT_T1);
    }
    if (full == u.lines) continue;
    for (int64_t q = 0; q < u.last_quads; ++q) b.template next<1>(stride);
    b.weights += (kQuads - u.last_quads) * kVectors * kAmxLine;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) _mm512_store_si512(sums + i * kVnniPanel + v * kLanes, b.acc[i][v]);
}

using Multiply = void (*)(const AmxUnit& u, const Operands& o, int32_t* sums);
template <int... kRow>
constexpr std::array<Multiply, sizeof...(kRow)> table_of(std::integer_sequence<int, kRow...>) {
  return {multiply<kRow + 1>...};
}
constexpr auto kMultiply = table_of(std::make_integer_sequence<int, kVnniTiles.most_rows>());

// What is no byte, or has other ends: columns in order, as after tiles.
void finish_in_order(const AmxUnit& u, const VnniSums& s, Finish finish) {
  constexpr int64_t kSize = kVnniTiles.most_rows * kAmxPanel;
  alignas(64) int32_t ordered[2][kSize];
  for (int64_t i = 0; i < s.rows; ++i)
    for (int64_t c = 0; c < kVnniPanel; c += 4)
      std::memcpy(&ordered[c / kAmxPanel][i * kAmxPanel + c % kAmxPanel], s.sums + i * kVnniPanel + vnni_place(c),
                  4 * sizeof(int32_t));
  for (int64_t half = 0; half < 2 && s.column + half * kAmxPanel < u.columns; ++half) {
    Pending pending{ordered[half], s.row, s.rows, s.column + half * kAmxPanel, 0};
    finish(u, &pending, s.rows);
  }
}

// Panels that take turns for each tile of rows: their weights stay in the first-level cache.
int64_t panels_together(int64_t panel_bytes) {
  constexpr int64_t kMost = 24 * 1024;
  return std::max<int64_t>(1, kMost / panel_bytes);
}

struct Ending {
  QuartersFinish quarters;
  Finish finish;
  void operator()(const AmxUnit& u, const VnniSums& sums) const {
    if (quarters != nullptr) return quarters(u, sums);
    finish_in_order(u, sums, finish);
  }
};

}  // namespace

bool vnni_in_places(const AmxUnit& u) { return quarters_finish_of(u) != nullptr; }

void vnni_unit(const AmxUnit& u) {
  alignas(64) int32_t sums[kVnniTiles.most_rows * kVnniPanel];
  const QuartersFinish quarters = quarters_finish_of(u);
  const Ending ending{quarters, quarters == nullptr ? finish_of<true>(u) : nullptr};
  const int64_t lines = u.num_taps * u.lines, panel_bytes = lines * kVnniPanel * kAmxLine,
                together = panels_together(panel_bytes) * kVnniPanel, full = u.num_rows / u.tile_rows,
                all = (u.num_rows + u.tile_rows - 1) / u.tile_rows;
  for (int64_t first = 0; first < u.columns; first += together) {
    const int64_t last = std::min(u.columns, first + together);
    Operands o{};
    // While these panels are multiplied, the next ones come closer.
    o.ahead = u.weights + (first + together) / kVnniPanel * panel_bytes;
    o.ahead_lines = last == u.columns ? 0 : (kVnniHalf + all - 1) / all;
    for (int64_t t = 0; t < all; ++t) {
      const int64_t row = t * u.tile_rows, count = std::min(u.tile_rows, u.num_rows - row);
      o.rows = t >= full ? u.tail : u.rows + (u.starts != nullptr ? u.starts[t] : row * u.stride);
      for (int64_t c = first; c < last; c += kVnniPanel) {
        for (int64_t half = 0; half < kVnniPanel; half += kVnniHalf) {
          o.weights = u.weights + (c + half) * lines * kAmxLine;
          o.start = u.start == nullptr ? nullptr : u.start + c + half;
          kMultiply[static_cast<size_t>(count - 1)](u, o, sums + half);
          o.ahead += lines * o.ahead_lines * kAmxLine;
        }
        ending(u, {sums, row, count, c});
      }
    }
  }
}

}  // namespace wootz::cpu
