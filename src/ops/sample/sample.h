// Interpolation between elements, one list of taps per axis.
#pragma once

#include <vector>

#include "ir/op_def.h"

namespace wootz::ops {

struct SampleTaps {
  int count = 0;
  int64_t index[4] = {};
  double weight[4] = {};
  void add(int64_t i, double w) {
    index[count] = i;
    weight[count++] = w;
  }
};

// Sum over the product of the axes' taps.
double weighted_sum(const double* data, const Dims& extents, const std::vector<SampleTaps>& taps, size_t axis = 0,
                    int64_t offset = 0);

const OpDef& deform_conv_op();

}  // namespace wootz::ops
