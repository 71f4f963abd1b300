// FP32 constants in 16 bits.
#pragma once

#include "ir/graph.h"

namespace wootz {

// Weights are rounded so that the errors in what one result sums up cancel (base/rounding.h), where all readers of the
// constant sum up the same elements; every other constant to the nearest.
Result<HostTensor> round_constant(const Value& constant, DType type);

}  // namespace wootz
