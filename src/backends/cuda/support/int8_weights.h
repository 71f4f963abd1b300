// Weights of 8-bit products and convolutions as the kernels for them want them.
#pragma once

#include <span>

#include "backend/quantized.h"
#include "base/tensor.h"

namespace wootz::cuda {

// With a product's alpha in it. Errors: as read_gemm_scales; data without a scale, weights with a zero point.
Result<GemmScales> int8_scales(const Problem& problem, int64_t columns);

// A column of weights after the other, taps outermost in each, padded with zeros to whole steps, which are in bytes.
struct WeightColumns {
  int64_t columns = 0, channels = 0, taps = 0;
  std::vector<std::byte> bytes;
};
int64_t columns_of(const Problem& problem, const Dims& weights);
WeightColumns weight_columns(const Problem& problem, const HostTensor& weights, int64_t step);

// The same of 8 bits, with the sum of each column.
struct Int8Columns : WeightColumns {
  std::vector<int64_t> sums;
};
Int8Columns int8_columns(const Problem& problem, const HostTensor& weights, int64_t step);

// The same numbers in FP16.
std::vector<std::byte> as_halves(std::span<const std::byte> bytes);

// Where the scales of columns begin after weights, in bytes, and where they end.
size_t scales_begin(int64_t weights);
size_t scales_end(int64_t weights, int64_t columns);
// Weights, and after them a scale for each column of the result.
std::vector<std::byte> with_scales(std::vector<std::byte> weights, const GemmScales& scales, int64_t columns);

}  // namespace wootz::cuda
