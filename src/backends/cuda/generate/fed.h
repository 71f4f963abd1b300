// Products and convolutions of floats of 16 and 8 bits of many rows by gemm/fed.cuh, and convolutions whose results are
// added up (a chain: backend/chain_sum.h): what their kernels share.
#pragma once

#include "backends/cuda/generate/fed_tiles.h"
#include "backends/cuda/generate/tile_reads.h"

namespace wootz::cuda {

inline constexpr int64_t kFedLine = 128;  // bytes of a row or column in a stage

// What is multiplied, and by what.
struct FedImage {
  int x = 0, w = 1;   // operands of the step
  TileProduct b;      // by itself
  int64_t lines = 1;  // of a tap's channels
  int64_t stages() const { return b.taps_h * b.taps_w * lines; }
  int64_t padded_columns() const { return (b.columns + 31) / 32 * 32; }
  int64_t weight_bytes() const { return padded_columns() * stages() * kFedLine; }
  int64_t packed_bytes() const { return weight_bytes() + (b.scaled ? b.columns * 4 : b.norm_table_bytes()); }
};

// Of blocks along the sum: operands of the step that are scales of rows of x, `x_blocks` each, and of columns of w, of
// which `side` share one of `columns`; how many places have one.
struct BlockScales {
  int x = 1, w = 3;
  int64_t x_blocks = 1, x_block = 128, w_block = 128, columns = 1, side = 1;
};

struct FedProduct {
  TileReads reads;  // what the expression is of; of a sum, the convolution that has it, with the bias of both
  std::vector<FedImage> images;       // whose products are added up: one, or two of which the second has no windows
  int bias = -1;                      // operand of the step that is the bias; -1: the one behind reads.w, or none
  int added = -1;                     // of a bias that is added to that one when it is packed, in FP32; -1: none
  std::optional<BlockScales> blocks;  // of floats of 8 bits, by promoted tiles
  const TileProduct& b() const { return images[0].b; }
  int64_t stages() const {  // of the sum
    int64_t all = 0;
    for (const FedImage& image : images) all += image.stages();
    return all;
  }
};

// At concrete extents. Errors: what these kernels do not compute, and why.
Result<FedProduct> describe_fed(const Problem& problem, const BindArgs& args);
// Of convolutions whose results are added up, without what is checked of all products.
Result<FedProduct> describe_fed_sum(const Problem& problem, const BindArgs& args);

// What is checked of all products, for these tiles; and of their packed weights.
Status settle_fed(const BindArgs& args, DType type, std::span<const FedTile> tiles, FedProduct* product);

// Columns lie so, 32 at a time, that a thread's sums are of eight neighbours; each tap's channels fill whole stages.
std::vector<std::byte> fed_columns(const Problem& problem, const FedImage& image, const HostTensor& source);
Status write_fed(const Problem& problem, const FedProduct& product, const FedTile& tile, std::vector<Launch>* launches);
double estimate_fed_tile(const Problem& problem, const FedProduct& product, std::span<const FedTile> tiles,
                         size_t index);

// How the unit for tensors reads a block's rows of x, and its columns of w: so many.
TensorView view_of_rows(const FedImage& image, DType type, int64_t lines);
TensorView view_of_columns(const FedImage& image, DType type, int64_t lines);
// The numbers that gemm/fed_windows.cuh asks for, and rows and columns.
void add_windows(const FedImage& image, int64_t tile_rows, KernelSource* source);

}  // namespace wootz::cuda
