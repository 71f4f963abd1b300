// Gather: a slice of x for each index, kVector neighbours of the results by each thread. An index outside its axis
// reads as zero. The problem: T as it lies in memory, Y of the results; N: of numbers that count results; kThreads;
// kVector; Constants {count: results; inner: elements of a slice, both in vectors; picks: indices of a batch; middle:
// between the batch and the axis; extent: of the axis};
//   Pack<Y, kVector> results(p, c, i, x)   the expression on vector i of what is gathered
#pragma once
#include "backends/cuda/kernels/common/indices.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const N i = (N)blockIdx.x * kThreads + threadIdx.x;
  if (i >= (N)c.count) return;
  const N element = i % (N)c.inner, rest = i / (N)c.inner, pick = rest % (N)c.picks, outer = rest / (N)c.picks;
  const Index index = index_along((s64)p.index[outer / (N)c.middle * (N)c.picks + pick], c.extent);
  Pack<T, kVector> x{};
  if (index.inside)
    x = *(const Pack<T, kVector>*)(p.x + (((s64)outer * c.extent + index.at) * c.inner + (s64)element) * kVector);
  *(Pack<Y, kVector>*)(p.y + (s64)i * kVector) = results(p, c, i, x);
}
