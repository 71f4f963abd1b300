// What attention/bytes.cuh and attention/few_rows.cuh multiply of values, as the number that it stands for. The
// problem: that of attention/head.cuh; kCentered: the zero point is taken off already.
#pragma once
#include "backends/cuda/kernels/attention/halves.cuh"
#include "backends/cuda/kernels/attention/head.cuh"

// A mean of values of group g, element d.
W_FN float value_of(float mean, int g, int d) {
  constexpr float kLess = kCentered ? 0.0f : (float)(kValueZero - Signed<Value>::kLower);
  return (mean - kLess) * value_scale(g, d);
}
