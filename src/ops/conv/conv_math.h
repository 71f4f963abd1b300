// Convolution by plain loops in double, on dense buffers: what Conv, ConvInteger and ConvTranspose share.
#pragma once

#include <vector>

#include "ops/support/window.h"

namespace wootz {

struct ConvSizes {
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  WindowExtents window;
};

// Called with one row of output: batch n, channel m, output position `first` on, and the sums.
using ConvRow = std::function<void(int64_t n, int64_t m, int64_t first, std::span<const double> sums)>;

// x [N,C,in...] and w [M,C/g,kernel...] as doubles. Elements outside x count as 0.
void convolve(const ConvSizes& sizes, const std::vector<double>& x, const std::vector<double>& w, const ConvRow& row);

// x [N,C,in...], w [C,M/g,kernel...]: the transpose of convolve. Here window.in is x's extent and window.out the
// result's.
void convolve_transposed(const ConvSizes& sizes, const std::vector<double>& x, const std::vector<double>& w,
                         const ConvRow& row);

}  // namespace wootz
