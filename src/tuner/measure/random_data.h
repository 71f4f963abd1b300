// Operands to measure and check kernels on.
#pragma once

#include "base/tensor.h"

namespace wootz {

// Floats in [-1, 1), narrow integers small enough that sums stay moderate, bool both ways, wide integers (which may be
// indices) in [0, index_bound). The same seed gives the same values on every machine.
Result<HostTensor> random_tensor(DType dtype, const Dims& dims, uint64_t seed, int64_t index_bound = 1);

}  // namespace wootz
