// Whether what a kernel computes depends on where along an outer axis it stands.
#pragma once

#include <string>
#include <vector>

#include "tuner/measure/benchmark_run.h"

namespace wootz {

// Runs a product or a convolution on operands whose slices along the batch (of products also along the rows) are all
// the same, at the largest extents, and compares the slices of the result bit by bit. Empty: they are the same, or the
// problem sums no products; otherwise what differs.
Result<std::string> place_dependence(const Kernel& kernel, const Problem& problem, const PackedConstants& constants,
                                     uint64_t seed, Device& device, Stream* stream);

}  // namespace wootz
