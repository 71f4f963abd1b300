// EyeLike: a thread a result. The problem: kThreads; Constants {count, columns, diagonal}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i < c.count) p.y0[i] = Put<Y0>::to(i % c.columns == i / c.columns + c.diagonal ? 1 : 0);
}
