// The least and the largest of parts of a tensor, 0 among them: a block a part, for special/range_rounding.cuh.
// The problem: kThreads; Constants {count: of elements; parts}; operands x0 and ranges.
#pragma once
#include "backends/cuda/kernels/common/groups.cuh"
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ float shared[kThreads];
  float low = 0, high = 0;
  for (s64 e = (s64)blockIdx.x * kThreads + threadIdx.x; e < c.count; e += (s64)c.parts * kThreads) {
    const float x = w_get(p.x0[e]);
    low = w_min(low, x);
    high = w_max(high, x);
  }
  low = w_group<1, kThreads, true>(low, shared, Min());
  high = w_group<1, kThreads, true>(high, shared, Max());
  if (threadIdx.x != 0) return;
  p.ranges[blockIdx.x * 2] = low;
  p.ranges[blockIdx.x * 2 + 1] = high;
}
