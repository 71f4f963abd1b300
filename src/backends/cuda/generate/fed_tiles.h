// The tiles of gemm/fed.cuh, as constants and by name.
#pragma once

#include "backends/cuda/generate/tiles.h"

namespace wootz::cuda {

// `rows` x `columns` of the result by a block, over `stages` in shared memory of 128 bytes of the sum each. In turn:
// its two teams take a tile each, one after the other; otherwise each has half of the rows of all. `cluster` blocks
// divide the sum of a tile. Promoted: sums of a stage are added up in registers.
struct FedTile {
  std::string_view name;  // as it stands in the names of kernels
  int rows, columns, stages;
  bool in_turn;
  double macs_per_us;  // of a multiprocessor
  int cluster = 1;
  bool promoted = false;
  constexpr int bytes() const {
    constexpr int kAligned = 1024;
    const int ring = kAligned + stages * (rows + columns) * 128 + (2 * stages + 2) * 8;
    return cluster == 1 ? ring : (ring + rows * columns * 4 + 8 + kAligned - 1) / kAligned * kAligned;
  }
};
inline constexpr FedTile kFedTiles[] = {
#define FED_TILE(...) {__VA_ARGS__},
#include "backends/cuda/generate/fed_tiles.inc"
#undef FED_TILE
};
// Of floats of 8 bits.
inline constexpr FedTile kFloat8FedTiles[] = {
#define FLOAT8_FED_TILE(...) {__VA_ARGS__},
#include "backends/cuda/generate/float8_fed_tiles.inc"
#undef FLOAT8_FED_TILE
};
consteval size_t float8_fed_tile(std::string_view name) {
  return tile_named(std::span<const FedTile>(kFloat8FedTiles), name);
}
consteval size_t fed_tile(std::string_view name) { return tile_named(std::span<const FedTile>(kFedTiles), name); }

}  // namespace wootz::cuda
