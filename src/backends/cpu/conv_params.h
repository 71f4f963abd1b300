// The parameters of a convolution (backend/families.md), read once for all kernels.
#pragma once

#include <vector>

#include "backend/kernel.h"

namespace wootz::cpu {

struct ConvForm {
  size_t spatial = 0;
  std::vector<int64_t> strides, dilations, pads, output_pads;
  int64_t groups = 1;
  bool transposed = false, bias = false;
  int64_t out_channels(const Problem& p) const {
    return transposed ? p.inputs[1].dims[1] * groups : p.inputs[1].dims[0];
  }
};

// Checks everything that does not depend on extents: it may come from a plan file.
Result<ConvForm> read_conv(const Problem& problem);
// Do concrete extents fit each other and the problem?
Status check_conv_extents(const Problem& problem, const ConvForm& params, const Dims& x, const Dims& w, const Dims& y);

}  // namespace wootz::cpu
