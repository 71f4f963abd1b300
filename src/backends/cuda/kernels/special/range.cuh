// Range: a thread a result. The problem: A: type of sums; kThreads; Constants {count}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i < c.count) p.y0[i] = Put<Y0>::to((Reg<Y0>::t)((A)w_get(p.x0[0]) + (A)i * (A)w_get(p.x2[0])));
}
