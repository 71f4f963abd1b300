// Tensor cores read FP32 operands as TF32: they drop what is below the tenth bit of the mantissa. Constants rounded
// beforehand lose half as much, and nothing in the mean.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/problem.h"
#include "base/tensor.h"

namespace wootz::cuda {

// The bytes of a constant operand of a product or convolution (FP32, row-major), rounded by what each result sums up.
std::vector<std::byte> round_to_tf32(const Problem& problem, int input, const HostTensor& source);

}  // namespace wootz::cuda
