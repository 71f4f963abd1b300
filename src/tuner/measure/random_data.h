// Operands to measure and check kernels on.
#pragma once

#include "backend/problem.h"
#include "base/tensor.h"

namespace wootz {

// Floats in [-1, 1), narrow integers small enough that sums stay moderate, bool both ways, wide integers (which may be
// indices) in [0, index_bound). The same seed gives the same values on every machine.
Result<HostTensor> random_tensor(DType dtype, const Dims& dims, uint64_t seed, int64_t index_bound = 1);

// Operand `input` of the problem with these extents: random_tensor() of its type, with zeros where the problem says
// that its weights have some (backend/sparsity.h).
Result<HostTensor> random_operand(const Problem& problem, size_t input, const Dims& dims, uint64_t seed,
                                  int64_t index_bound = 1);

}  // namespace wootz
