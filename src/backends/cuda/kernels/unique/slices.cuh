// The slices that begin a group, each to its place: an element a thread.
// The problem: kThreads; Constants {count: elements; n, inner: extents along and behind the axis}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 inside = i % c.inner, rest = i / c.inner, e = rest % c.n, outer = rest / c.n, total = *p.total;
  if (p.first[e]) p.y[(outer * total + p.way[e]) * c.inner + inside] = p.x[i];
}
