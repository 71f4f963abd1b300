// How many elements of each part count. The problem: that of select/parts.cuh.
#pragma once
#include "backends/cuda/kernels/select/parts.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ u32 shared[kThreads];
  const u32 n = w_group<1, kThreads, false>(count(p.x, this_part(c)), shared, Sum());
  if (threadIdx.x == 0) p.sums[blockIdx.x] = n;
}
