// Scatter by tuples that combines: a thread takes an element of the slices, of some of them, and looks at all tuples in
// order.
// The problem: that of scatter/combine.cuh; kThreads; kDepth: of a tuple; Constants {count: threads; inner: elements of
// a slice; shares: into which slices are divided; tuples};
//   extent(c, k), stride(c, k)   of what index k of a tuple counts, in slices
#pragma once
#include "backends/cuda/kernels/common/index_tuples.cuh"
#include "backends/cuda/kernels/scatter/combine.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 element = i % c.inner, share = i / c.inner;
  for (s64 j = 0; j < c.tuples; ++j) {
    const Index slice = index_of<kDepth>(c, p.index + j * kDepth);
    if (!slice.inside || slice.at % c.shares != share) continue;
    combine(p.y + slice.at * c.inner + element, p.updates[j * c.inner + element]);
  }
}
