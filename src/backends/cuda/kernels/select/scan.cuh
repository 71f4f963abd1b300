// Running sums over the counts of parts, without the part itself, and their total: one block.
// The problem: kThreads; Constants {count: parts; each: parts of a thread}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ s64 shared[kThreads];
  const int t = threadIdx.x;
  const s64 first = (s64)t * c.each, last = first + c.each > c.count ? c.count : first + c.each;
  s64 a = 0;
  for (s64 e = first; e < last; ++e) a += p.sums[e];
  shared[t] = a;
  __syncthreads();
  a = 0;
  for (int k = 0; k < t; ++k) a += shared[k];
  for (s64 e = first; e < last; ++e) {
    const s64 n = p.sums[e];
    p.sums[e] = a;
    a += n;
  }
  if (t == kThreads - 1) *p.total = a;
}
