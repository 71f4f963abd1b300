// Depthwise convolution by patches: the problem is conv/patch.cuh's.
#pragma once
#include "backends/cuda/kernels/conv/patch.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kPatchBytes);
  const Own own = own_results(c);
  Pair a[kResults];
  convolve(p, c, memory, own, a);
  store_strip(p, c, own, a, [](const Pack<Y, kVector>&) {});
}
