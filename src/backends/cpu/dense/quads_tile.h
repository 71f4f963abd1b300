// The inner loop of quads_pack.h: a few rows times one panel, and what follows.
#pragma once

#include "backends/cpu/dense/quads_end.h"
#include "backends/cpu/dense/quads_pack.h"

namespace wootz::cpu {

struct QuadsTile {
  // Of row i, at values + i * row_bytes(), and each quad of it: four absolute values, then four bytes that are 255
  // where the value is negative.
  const char* values = nullptr;
  const int32_t* more = nullptr;     // what is added to all sums of a row
  const std::byte* block = nullptr;  // a QuadBlock
  int64_t quads = 0;
  const int32_t* start = nullptr;  // what a column's sums begin with; null: with what is in `sums`
  int32_t* sums = nullptr;         // row i at sums + i * stride, a whole panel
  int64_t stride = 0;
};

struct QuadsOps : QuadsForm {
  // Writes n values for a tile, up to 64 bytes beyond. `flip`: 0 for i8; 128 for u8, which are then 128 less.
  // Gives QuadsTile::more.
  int32_t (*spread)(const uint8_t* from, uint8_t flip, int64_t n, char* to);
  void (*tile)(const QuadsTile& tile, int64_t rows);
  void (*end)(const QuadsEnd& end, int64_t rows);
};
const QuadsOps& quads_ops(Isa isa);
const QuadsOps& crossed_ops(Isa isa);  // crossed_tile.cpp

}  // namespace wootz::cpu
