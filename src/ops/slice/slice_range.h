// One axis of a slice, in numbers and as an expression.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace wootz::ops {

struct SliceRange {
  int64_t start = 0, step = 1, count = 0;  // positions start, start + step, ...: all inside the axis
};

// Negative starts and ends count from the end; both are then clamped to the axis. step is not 0.
SliceRange slice_range(int64_t extent, int64_t start, int64_t end, int64_t step);

// The same count over expressions; nullopt when it is not known whether a start or end counts from the end.
std::optional<Dim> slice_count(const Dim& extent, const Dim& given_start, const Dim& given_end, int64_t step,
                               const Graph* graph);

}  // namespace wootz::ops
