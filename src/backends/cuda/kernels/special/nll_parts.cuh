// Sums of losses and of their weights: a block a part, for special/nll_join.cuh.
// The problem: that of special/nll.cuh; Constants {parts}.
#pragma once
#include "backends/cuda/kernels/special/nll.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ double shared[kThreads];
  Loss sum = {0, 0};
  for (s64 e = (s64)blockIdx.x * kThreads + threadIdx.x; e < c.count; e += (s64)c.parts * kThreads) {
    const Loss loss = loss_of(p, c, e);
    sum.value += loss.value;
    sum.weight += loss.weight;
  }
  sum.value = w_group<1, kThreads, false>(sum.value, shared, Sum());
  sum.weight = w_group<1, kThreads, false>(sum.weight, shared, Sum());
  if (threadIdx.x != 0) return;
  p.sums[blockIdx.x * 2] = sum.value;
  p.sums[blockIdx.x * 2 + 1] = sum.weight;
}
