// Tensors from one layout to another on the host, element by element.
#pragma once

#include <vector>

#include "backend/problem.h"
#include "base/function_ref.h"

namespace wootz {

// `to` has layout_bytes(); what pads channels becomes zeros there, and is not read in `from`. Equal layouts are copied
// whole. Error: kOpaque.
Status move_to_layout(const void* from, Layout from_layout, void* to, Layout to_layout, DType dtype, const Dims& dims);

// Every element where its strides say, without gaps.
inline bool is_plain(Layout layout) { return layout == Layout::kLinear || layout == Layout::kChannelsLast; }

// Whether a transposition of so many axes (`perm`: the axis of x that each axis of y is) leaves all elements where they
// are in memory, with x and y in these layouts. `is_one(axis)`: x has one element along it, always.
bool stays_in_place(const std::vector<int64_t>& perm, Layout x, Layout y, FunctionRef<bool(size_t axis)> is_one);

}  // namespace wootz
