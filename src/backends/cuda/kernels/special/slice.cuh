// Slice: a thread a result; what lies outside of x is 0.
// The problem: that of special/places.cuh; E: an element as bits; kThreads; Constants {count};
//   start(p, k), step(p, k)   along axis k; a start from the end is negative
#pragma once
#include "backends/cuda/kernels/special/places.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const Source source = source_of(c, i, [&](int k, s64 at, bool*) {
    const s64 each = step(p, k), top = each > 0 ? extent(c, k) : extent(c, k) - 1;
    s64 first = start(p, k);
    if (first < 0) first += extent(c, k);
    return w_clip<s64>(first, 0, top) + at * each;
  });
  ((E*)p.y0)[i] = source.inside ? ((const E*)p.x0)[source.at] : (E)0;
}
