// The two parts of a depthwise convolution with the gate of its image (gated.cpp), each a launch: the first writes sums
// beside its results, the second reads them in place of the image.
#pragma once

#include "backends/cuda/generate/source.h"

namespace wootz::cuda {

// What the second sums up: rows of all channels, in the place of the problem's first operand.
struct Summed {
  DType type = DType::kInvalid;
  int64_t rows = 0;
};
// Family squeeze_excite by a cluster of so many blocks for each image.
Status generate_gate(const Problem& problem, const BindArgs& args, const Summed& summed, int cluster,
                     std::vector<Launch>* launches);

// Depthwise convolution by patches, and at the beginning of its scratch memory the sums over the pixels of each block
// in FP32, [image][block][channel]; returns how many blocks an image has.
Result<int64_t> generate_depthwise_sums(const Problem& problem, const BindArgs& args, int results,
                                        std::vector<Launch>* launches);

}  // namespace wootz::cuda
