// Tensors from one layout to another on the host, element by element.
#pragma once

#include "backend/problem.h"

namespace wootz {

// `to` has layout_bytes(); what pads channels becomes zeros there, and is not read in `from`. Equal layouts are copied
// whole. Error: kOpaque.
Status move_to_layout(const void* from, Layout from_layout, void* to, Layout to_layout, DType dtype, const Dims& dims);

}  // namespace wootz
