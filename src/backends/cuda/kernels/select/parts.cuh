// Counting in parts: a block looks at kThreads * kEach neighbours, a thread at kEach of them. What is not 0 counts.
// The problem: X; kThreads, kEach; Constants {count: elements of x}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

// Elements that this thread looks at.
struct Part {
  s64 first, last;
};

W_FN Part this_part(const Constants& c) {
  const s64 first = (s64)blockIdx.x * (kThreads * kEach) + (int)threadIdx.x * kEach;
  return {first, first + kEach > c.count ? c.count : first + kEach};
}

W_FN bool counts(const X& x) { return (bool)w_get(x); }

W_FN u32 count(const X* x, const Part& part) {
  u32 n = 0;
  for (s64 i = part.first; i < part.last; ++i) n += counts(x[i]) ? 1 : 0;
  return n;
}

// The number of the thread's first element that counts, among all. `sums`: what counts before each block.
W_FN s64 number_of_first(const X* x, const Part& part, const s64* sums) {
  __shared__ u32 shared[kThreads];
  const int t = threadIdx.x;
  shared[t] = count(x, part);
  __syncthreads();
  s64 at = sums[blockIdx.x];
  for (int k = 0; k < t; ++k) at += shared[k];
  return at;
}
