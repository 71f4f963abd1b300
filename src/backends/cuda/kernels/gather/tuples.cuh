// Gather by tuples: a slice of x for each tuple of indices. One that lies outside reads as zero.
// The problem: kThreads; kDepth: of a tuple; Constants {count: results; inner: elements of a slice; tuples, step: of a
// batch, and between batches in x};
//   extent(c, k), stride(c, k)   of x along what index k of a tuple counts
#pragma once
#include "backends/cuda/kernels/common/index_tuples.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 element = i % c.inner, tuple = i / c.inner;
  const Index place = index_of<kDepth>(c, p.index + tuple * kDepth);
  p.y[i] = place.inside ? p.x[tuple / c.tuples * c.step + element + place.at] : 0;
}
