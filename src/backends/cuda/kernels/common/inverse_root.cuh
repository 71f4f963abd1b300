// The inverse of a square root, by the device's own instruction.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN float w_inverse_root(float v) {
#ifdef WOOTZ_ON_HOST
  return 1.0f / w_sqrt(v);
#else
  return rsqrtf(v);
#endif
}
