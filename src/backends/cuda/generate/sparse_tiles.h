// The tiles of gemm/fed_sparse.cuh, as constants and by name.
#pragma once

#include "backends/cuda/generate/tiles.h"

namespace wootz::cuda {

// `rows` x `columns` of the result by a block, over `stages` in shared memory of 128 places of the sum each, of which
// columns have half. In turn: its two teams take a tile of 128 columns each, one after the other; otherwise each has
// half of the columns.
struct SparseTile {
  std::string_view name;  // as it stands in the names of kernels
  int rows, columns, stages;
  bool in_turn;
  double macs_per_us;  // of a multiprocessor, those by zeros too
  constexpr int bytes() const {
    return 1024 + stages * (columns + 2 * rows + columns / 8) * 128 + (2 * stages + 2) * 8;
  }
};
inline constexpr SparseTile kSparseTiles[] = {
#define SPARSE_TILE(...) {__VA_ARGS__},
#include "backends/cuda/generate/sparse_tiles.inc"
#undef SPARSE_TILE
};
consteval size_t sparse_tile(std::string_view name) {
  return tile_named(std::span<const SparseTile>(kSparseTiles), name);
}

}  // namespace wootz::cuda
