// What attention/bytes.cuh multiplies of values, as the number that it stands for.
#pragma once
#include "backends/cuda/kernels/attention/halves.cuh"
#include "backends/cuda/kernels/attention/head.cuh"

// A mean of values of group g, element d.
W_FN float value_of(float mean, int g, int d) {
  return (mean - (float)(kValueZero - Signed<Value>::kLower)) * value_scale(g, d);
}
