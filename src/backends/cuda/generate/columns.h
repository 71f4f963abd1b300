// Reductions whose rows are far apart in memory while kept elements are neighbours.
#pragma once

#include "backends/cuda/generate/source.h"

namespace wootz::cuda {

// Axes with strides of x, y and the epilogue's operands, merged. False: not of this form, nothing was added.
Result<bool> generate_columns(const Problem& problem, const std::vector<Axis>& kept, const std::vector<Axis>& reduced,
                              std::vector<Launch>* launches);

}  // namespace wootz::cuda
