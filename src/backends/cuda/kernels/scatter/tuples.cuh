// Scatter by tuples: a slice of y for each tuple of indices, behind the copy of x. One that lies outside writes
// nothing. The problem: kThreads; kDepth: of a tuple; Constants {count: elements of all updates; inner: of a slice};
//   extent(c, k), stride(c, k)   of y along what index k of a tuple counts
#pragma once
#include "backends/cuda/kernels/common/index_tuples.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 element = i % c.inner, tuple = i / c.inner;
  const Index place = index_of<kDepth>(c, p.index + tuple * kDepth);
  if (place.inside) p.y[place.at + element] = p.updates[i];
}
