// Strided copies: what families move and reformat come down to.
#pragma once

#include "backends/cuda/generate/source.h"

namespace wootz::cuda {

// From an input to an output of the problem.
struct Copy {
  std::vector<Axis> axes;    // strides: {source, target}
  int64_t from = 0, to = 0;  // offsets
  int input = 0, output = 0;
  void add(int64_t extent, int64_t source, int64_t target) { axes.push_back({extent, {source, target}}); }
};

// Launches for several copies of elements of so many bits. `arguments`: as of a KernelSource.
Status add_copies(std::vector<Copy> copies, int bits, bool arguments, std::vector<Launch>* launches);

// A concatenation with an expression on its result.
Status add_concat(const Problem& problem, const BindArgs& args, std::vector<Launch>* launches);

// A reformat from or to a layout whose channels are in groups. Errors: elements of parts of bytes, or of two types.
Status add_regrouped(const Problem& problem, const Dims& dims, bool arguments, std::vector<Launch>* launches);

// The struct of move/pad_modes.cuh.
const char* pad_mode(PadMode mode);

}  // namespace wootz::cuda
