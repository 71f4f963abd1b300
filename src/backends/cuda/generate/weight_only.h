// What products by packed weights share.
#pragma once

#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {

// Columns of a constant matrix of 4 or 8 bits, with a scale and perhaps a zero point for each block of a column.
struct NarrowProduct {
  int64_t rows = 1, columns = 1, depth = 1, block = 1;
  int bits = 4;
  int64_t blocks() const { return (depth + block - 1) / block; }
};

// Errors: types, layouts or extents that do not go together, or that no generated kernel takes.
Status check_narrow(const Problem& problem);
Result<NarrowProduct> narrow_product(const Problem& problem, std::span<const Dims> in, const Dims& y);

// Errors: fewer bytes of a packed operand than here by operand.
Status check_packed(const Problem& problem, const BindArgs& args, std::span<const size_t> bytes);
// Types X and S; y, x, w, scale, and zero where there are zero points; the expression's operands.
void add_narrow_operands(const Problem& problem, KernelSource* source);
// The expression's operands, which it reads at row r and column m.
Status add_narrow_epilogue(const Problem& problem, const BindArgs& args, KernelSource* source);

// Element i, from the least on.
uint8_t packed_bits(const HostTensor& values, int64_t i);

}  // namespace wootz::cuda
