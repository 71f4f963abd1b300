// Which places begin a group of equal ones: by their number in the order, and by where they are in x.
// The problem: that of unique/compare.cuh; kThreads; Constants {count: places}.
#pragma once
#include "backends/cuda/kernels/unique/compare.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const bool begins = i == 0 || compare_slices(p.x, c, p.order[i - 1], p.order[i]) != 0;
  p.head[i] = begins;
  p.first[p.order[i]] = begins;
}
