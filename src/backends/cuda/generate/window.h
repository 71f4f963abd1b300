// What kernels over windows share: the window's parameters, checked.
#pragma once

#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {

// Images of equal rank with 1 to 3 spatial axes in plain layouts, and an epilogue that can be written.
Status check_window(const Problem& problem, const BindArgs& args, size_t inputs, size_t outputs = 1);
// `count` values, none below `least`, none so large that positions overflow.
Status check_values(const std::vector<int64_t>& values, size_t count, int64_t least);

struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
};
// A pool's, with the global ones written out.
Result<Window> pool_window(const Problem& problem, const Dims& x);

// What kernels with a thread a result ask for (common/window.cuh). Place: where a result is, by `names`, whose strides
// over the axes of y are given, and in the epilogue's operands, as place_offsets() says it.
Status add_places(const Problem& problem, const BindArgs& args, std::vector<std::string> names,
                  std::vector<std::vector<int64_t>> strides, KernelSource* source);
std::vector<std::string> place_offsets(const Problem& problem);
// The window, and the Place of an image's element.
Status add_window(const Problem& problem, const BindArgs& args, const Window& window, KernelSource* source);

}  // namespace wootz::cuda
