// Products of floats of 8 bits by a constant matrix, as cuBLASLt computes them from compute capability 8.9 on.
#pragma once

#include <optional>

#include "backend/kernel.h"
#include "backends/cuda/cublaslt/product.h"

namespace wootz::cuda {

// Ok: devices of this compute capability (90 of sm_90) multiply floats of 8 bits.
Status check_fp8_device(int capability);

// Whether the problem is one of floats of 8 bits: describe_fp8 then says what the library makes of it.
bool is_fp8_product(const Problem& problem);

// Errors: what the library cannot do, and why.
Result<Product> describe_fp8(const Problem& problem, std::span<const Dims> inputs, const Dims& output);

// What comes after the packed weights, in bytes from their start: a factor of the result before it is rounded to 8
// bits; by column, also a scale for each column and a one for each row.
struct Fp8Table {
  size_t factor = 0, columns = 0, rows = 0, end = 0;
};
Fp8Table fp8_table(const Product& product, int64_t rows);

// Constant operand `input` as such a product reads it: weights as rows of columns with their tables, a bias in the type
// that the library adds.
Result<std::optional<PackedForm>> pack_fp8(const Problem& problem, int input, const HostTensor& source);
// Ok: the bytes of the constants, where they are given, are as many as will be read.
Status check_fp8_constants(const Product& product, const BindArgs& args);

// The operation that rounds the expression's result to 8 bits, undone: what comes before it, and the factor that it
// puts in front of the rounding. Nullopt: the result is rounded otherwise than the library rounds.
std::optional<PointwiseExpr> before_fp8_rounding(const PointwiseExpr& expression, double* factor);

}  // namespace wootz::cuda
