// Products and convolutions of 16-bit floats of many rows by gemm/fed.cuh: what their kernels share.
#pragma once

#include "backends/cuda/generate/fed_tiles.h"
#include "backends/cuda/generate/tile_reads.h"

namespace wootz::cuda {

struct FedProduct {
  TileReads reads;
  TileProduct b;
  int64_t lines = 1;   // of a tap's channels: 64 each
  int64_t stages = 1;  // of the sum
  int64_t padded_columns() const { return (b.columns + 31) / 32 * 32; }
  int64_t weight_bytes() const { return padded_columns() * stages * 128; }
};

// At concrete extents. Errors: what these kernels do not compute, and why.
Result<FedProduct> describe_fed(const Problem& problem, const BindArgs& args);

// How the unit for tensors reads a block's rows of x, and its columns of w.
TensorView view_of_rows(const FedProduct& product, DType type, const FedTile& tile);
TensorView view_of_columns(const FedProduct& product, DType type, const FedTile& tile);

}  // namespace wootz::cuda
