// The loss of all targets from the sums of special/nll_parts.cuh.
// The problem: kThreads; kMean: by weight, otherwise the sum; Constants {parts}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ double shared[kThreads];
  double total = 0, weights = 0;
  for (int e = threadIdx.x; e < c.parts; e += kThreads) {
    total += p.sums[e * 2];
    weights += p.sums[e * 2 + 1];
  }
  total = w_group<1, kThreads, false>(total, shared, Sum());
  weights = w_group<1, kThreads, false>(weights, shared, Sum());
  if (threadIdx.x == 0) p.y0[0] = Put<Y0>::to((Reg<Y0>::t)(kMean ? total / weights : total));
}
