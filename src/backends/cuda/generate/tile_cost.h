// How long a tile of gemm/tile.cuh takes, as far as that can be said ahead, and which tiles are worth compiling.
#pragma once

#include <span>

#include "backends/cuda/generate/tile.h"

namespace wootz::cuda {

// As fitted to times at batch 1 on a Hopper GPU, in microseconds: a start; the first stage and each one; sharing a sum
// in a cluster and each of its blocks. Then what a multiprocessor multiplies, reads and stores, and the L2 gives, in a
// microsecond.
struct TileCosts {
  double start, first, stage, cluster, block;
  double macs, bytes, stores, l2_bytes;
};

// Of the operands and results.
double bytes_of(const Problem& problem);

// Of a library's kernel for so many multiplications and bytes, on a GPU whose own instructions for large products the
// tiles of gemm/tile.cuh do not use.
double library_us(double macs, double bytes);

// Of a step that reads and writes so many bytes; of a normalization's, beside others in a network.
double copy_us(double bytes);
double norm_us(double bytes);

struct TileEstimate {
  double us = 0, best_us = 0;  // of the tile, of the fastest one
  bool suits = false;          // it is among the first `most`, or the first of those that every GPU has
};
TileEstimate estimate_tile(const Problem& problem, const TileProduct& product, std::span<const Tile> tiles, size_t tile,
                           const TileCosts& costs, size_t most);

}  // namespace wootz::cuda
