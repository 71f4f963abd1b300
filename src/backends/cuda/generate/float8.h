// Products and convolutions of floats of 8 bits by constants: what all kernels of them share.
#pragma once

#include "backend/quantized.h"
#include "backends/cuda/generate/tile_reads.h"

namespace wootz::cuda {

// At concrete extents. Errors: what no kernel of floats of 8 bits computes, and why.
Result<TileProduct> describe_float8(const Problem& problem, const BindArgs& args);

// Of each column, with the scale of x and a product's alpha in it.
Result<std::vector<float>> float8_scales(const Problem& problem, int64_t columns);

// `bytes` and what follows them in memory.
void append_floats(const std::vector<float>& floats, std::vector<std::byte>* bytes);

}  // namespace wootz::cuda
