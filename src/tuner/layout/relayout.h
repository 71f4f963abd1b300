// Tensors between row-major order and the layouts in which kernels want them, on the host while building.
#pragma once

#include "backend/problem.h"
#include "base/tensor.h"

namespace wootz {

// The bytes of `source` in `layout`, padded channels zero, as a tensor whose extents are those in memory order's
// logical form (channels rounded up to the block). The same tensor where all orders are one (kLinear, rank below 3).
// Error: kOpaque.
Result<HostTensor> to_layout(const HostTensor& source, Layout layout);

// The reverse: `data` holds a tensor of these logical extents in `layout`.
Result<HostTensor> from_layout(const void* data, Layout layout, DType dtype, const Dims& dims);

}  // namespace wootz
