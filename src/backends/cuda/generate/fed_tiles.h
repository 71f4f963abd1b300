// The tiles of gemm/fed.cuh, as constants and by name.
#pragma once

#include "backends/cuda/generate/tiles.h"

namespace wootz::cuda {

// `rows` x `columns` of the result by a block, over `stages` in shared memory of 64 places of the sum each. In turn:
// its two teams take a tile each, one after the other; otherwise each has half of the rows of all.
struct FedTile {
  std::string_view name;  // as it stands in the names of kernels
  int rows, columns, stages;
  bool in_turn;
  double macs_per_us;  // of a multiprocessor
  constexpr int bytes() const { return 1024 + stages * (rows + columns) * 128 + (2 * stages + 2) * 8; }
};
inline constexpr FedTile kFedTiles[] = {
#define FED_TILE(...) {__VA_ARGS__},
#include "backends/cuda/generate/fed_tiles.inc"
#undef FED_TILE
};
consteval size_t fed_tile(std::string_view name) { return tile_named(std::span<const FedTile>(kFedTiles), name); }

}  // namespace wootz::cuda
