// Tensors from one layout to another on the host, element by element: what other ways of doing so are compared with.
#pragma once

#include "backend/problem.h"

namespace wootz {

// `to` has layout_bytes(), channels that are filled up become zeros; those of `from` are not read.
// Errors: kOpaque; types of less than a byte between two different orders.
Status move_to_layout(const void* from, Layout from_layout, void* to, Layout to_layout, DType dtype, const Dims& dims);

}  // namespace wootz
