// Gather: a slice of x for each index. An index outside its axis reads as zero.
// The problem: kThreads; Constants {count: results; inner: elements of a slice; picks: indices of a batch; middle:
// between the batch and the axis; extent: of the axis}.
#pragma once
#include "backends/cuda/kernels/common/indices.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 element = i % c.inner, rest = i / c.inner, pick = rest % c.picks, outer = rest / c.picks;
  const Index index = index_along((s64)p.index[outer / c.middle * c.picks + pick], c.extent);
  p.y[i] = index.inside ? p.x[(outer * c.extent + index.at) * c.inner + element] : 0;
}
