// Bernoulli: a thread a result. The problem: kThreads; Constants {count}.
#pragma once
#include "backends/cuda/kernels/common/philox.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i < c.count) p.y0[i] = Put<Y0>::to((Reg<Y0>::t)(w_draw(p.x0, i).uniform < (double)w_get(p.x1[i]) ? 1 : 0));
}
