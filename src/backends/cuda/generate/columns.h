// Reductions whose rows are far apart in memory while kept elements are neighbours.
#pragma once

#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {

// How the elements of a row become one.
struct Reduction {
  const char* name = nullptr;  // its struct in kernels/reduce/reductions.cuh; null: none
  bool by_columns = false;     // by columns, too
  const char* sum = "float";   // type of what is in between
  DType result = DType::kF32;  // of what it comes to, ahead of the epilogue
  bool scaled = false;         // of 8 bits with a scale and a zero point
  double scale = 1;
  int64_t zero = 0;
};
// What kernels/reduce/reductions.cuh asks for, but the length.
void add_reduction(const Reduction& reduction, KernelSource* source);

// Axes with strides of x, y and the epilogue's operands, merged. False: not of this form, nothing was added.
// `arguments`: as of a KernelSource.
Result<bool> generate_columns(const Problem& problem, const Reduction& reduction, bool arguments,
                              const std::vector<Axis>& kept, const std::vector<Axis>& reduced,
                              std::vector<Launch>* launches);

// The mean of all axes from the third on, of 8 bits with a scale: `problem` is a pool that check_window() takes, over
// images of at least a pixel. Results are in FP32.
Status generate_scaled_mean(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);

}  // namespace wootz::cuda
