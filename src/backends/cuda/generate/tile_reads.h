// What a tile of 16-bit floats reads other than one operand after the other: convolutions by single pixels of what a
// gate multiplies, as a squeeze-and-excitation has them, and of a concatenation; products of normalized rows. All are
// of family chain. And what it stores in several results: family siblings.
#pragma once

#include <vector>

#include "backend/kernel.h"
#include "backends/cuda/generate/tile.h"

namespace wootz::cuda {

// A product, and where in the step its operands are. A product alone is one, too.
struct TileReads {
  Problem problem;                    // the product, whose operand 0 is what the first problem makes
  int x = 0, w = 1;                   // operands of the step; what follows on w does so there
  int gate = -1;                      // what multiplies x channel by channel; -1: nothing
  DType gate_type = DType::kInvalid;  // and of bytes its type, and a factor of all of them
  double factor = 1;
  std::optional<TileProduct::Norm> norm;  // of the rows of x
  std::vector<int64_t>
      joined;  // channels of x and of the operands after it, whose channels follow on its; none: x alone
  std::vector<int64_t> parts;  // columns of each result, of siblings; none: there is one
  std::vector<Dims> dims;      // of the product's operands, where extents of the step's were given
  std::vector<Dims> made;      // and of its result
};

// The product that a step's problem is, at these extents of its operands and results. Errors: chains of something else,
// operands of other types than x, several images by a gate, scales of rows that are no constants.
Result<TileReads> tile_reads(const Problem& problem, std::span<const Dims> inputs, std::span<const Dims> results);

// The product of 16-bit floats by constant weights that it is. At concrete extents. Errors: what tiles of them do not
// compute, and why.
Result<TileProduct> describe_half(const TileReads& reads, const BindArgs& args);

}  // namespace wootz::cuda
