// CumSum and CumProd along the axis that x1 names: a thread a line, as many as there are along the shortest axis.
// The problem: that of special/running.cuh; kThreads, kReverse, kRank; Constants {count: threads; volume};
//   extent_of(c, a), inner_of(c, a)   of axis a, and of the elements behind it
#pragma once
#include "backends/cuda/kernels/special/running.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  s64 axis = (s64)w_get(p.x1[0]), extent = 1, inner = 1;
  if (axis < 0) axis += kRank;
#pragma unroll
  for (int a = 0; a < kRank; ++a) {
    if (axis != a) continue;
    extent = extent_of(c, a);
    inner = inner_of(c, a);
  }
  if (i >= c.volume / extent) return;
  const s64 base = i / inner * (extent * inner) + i % inner;
  A a = kStart;
  for (s64 e = 0; e < extent; ++e) {
    const s64 at = base + (kReverse ? extent - 1 - e : e) * inner;
    run_over(p.x0[at], p.y0 + at, &a);
  }
}
