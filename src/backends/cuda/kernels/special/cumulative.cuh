// CumSum and CumProd: a line along the axis by one thread, or by several that take a stretch each.
// The problem: that of special/running.cuh; kThreads, kReverse; kLineThreads: of a line; Constants {count: threads;
// extent: of the axis; inner: elements behind it; stretch: elements of a thread}.
#pragma once
#include "backends/cuda/kernels/special/running.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ A shared[kLineThreads > 1 ? kThreads : 1];
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 line = i / kLineThreads;
  const int t = (int)(i % kLineThreads);
  const s64 base = line / c.inner * ((s64)c.extent * c.inner) + line % c.inner;
  const int first = t * c.stretch, end = first + c.stretch > c.extent ? c.extent : first + c.stretch;
  const auto place = [&](int e) { return base + (s64)(kReverse ? c.extent - 1 - e : e) * c.inner; };
  A a = kStart;
  if constexpr (kLineThreads > 1) {
    for (int e = first; e < end; ++e) a = joined(a, (A)w_get(p.x0[place(e)]));
    shared[threadIdx.x] = a;
    __syncthreads();
    a = kStart;
    for (int k = (int)threadIdx.x - t; k < (int)threadIdx.x; ++k) a = joined(a, shared[k]);
  }
  for (int e = first; e < end; ++e) run_over(p.x0[place(e)], p.y0 + place(e), &a);
}
