// What products by packed weights share.
#pragma once

#include <optional>

#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {

// Columns of a constant matrix of 4 or 8 bits, with a scale and perhaps a zero point for each block of a column.
struct NarrowProduct {
  int64_t rows = 1, columns = 1, depth = 1, block = 1;
  int bits = 4;
  int64_t blocks() const { return (depth + block - 1) / block; }
};

// A step of family gemm, or several products of one tensor as one, of family siblings; or a chain of a normalization
// and such a product, or siblings of such chains.
struct NarrowStep {
  Problem product;               // the one with the columns of all
  std::optional<Problem> norm;   // what the product's rows go through first
  size_t shift = 0;              // operand i of the product, from 1 on, is the step's i + shift
  Dims y;                        // its result, where extents of the step's were given
  std::vector<int64_t> columns;  // of each result
};
Result<NarrowStep> narrow_step(const Problem& problem, std::span<const Dims> results);
Result<NarrowStep> narrow_step(const Problem& problem);  // at the optimum
// Extents of the product's operands, of those of the step's.
std::vector<Dims> product_inputs(const NarrowStep& step, std::span<const Dims> inputs);

// Errors: types, layouts or extents that do not go together, or that no generated kernel takes.
Status check_narrow(const Problem& problem);
Result<NarrowProduct> narrow_product(const Problem& problem, std::span<const Dims> in, const Dims& y);

// Errors: fewer bytes of a packed operand than here by operand.
Status check_packed(const NarrowStep& step, const BindArgs& args, std::span<const size_t> bytes);
// Types X, S and Y; y0 and on, x, w, scale, and zero where there are zero points; the expression's operands. Kernels
// store by store(p, c, r, m, value).
void add_narrow_operands(const NarrowStep& step, KernelSource* source);
// Given: what the expression reads; given(p, c, r, m) reads it for row r and column m, epilogue(f, given) is the
// expression.
Status add_narrow_epilogue(const NarrowStep& step, const BindArgs& args, KernelSource* source);

// Element i: integers from the least on, floats as they are.
uint8_t packed_bits(const HostTensor& values, int64_t i);

}  // namespace wootz::cuda
