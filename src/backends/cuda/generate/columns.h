// Reductions whose rows are far apart in memory while kept elements are neighbours.
#pragma once

#include "backends/cuda/generate/source.h"

namespace wootz::cuda {

// Axes with strides of x, y and the epilogue's operands, merged. False: not of this form, nothing was added.
// `arguments`: as of a KernelSource.
Result<bool> generate_columns(const Problem& problem, bool arguments, const std::vector<Axis>& kept,
                              const std::vector<Axis>& reduced, std::vector<Launch>* launches);

// Its struct in kernels/reduce/reductions.cuh; null: none.
const char* reduction_of(ReduceKind kind);

}  // namespace wootz::cuda
