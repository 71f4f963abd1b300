// The loss of each target. The problem: that of special/nll.cuh.
#pragma once
#include "backends/cuda/kernels/special/nll.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i < c.count) p.y0[i] = Put<Y0>::to((Reg<Y0>::t)loss_of(p, c, i).value);
}
