// Gather by elements: an index for each result. An index outside its axis reads as zero.
// The problem: kThreads; Constants {count: results; extent, stride: of x along the axis};
//   Line line(c, i)   where the line of result i begins in x
#pragma once
#include "backends/cuda/kernels/common/indices.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const Index index = index_along((s64)p.index[i], c.extent);
  p.y[i] = index.inside ? p.x[(s64)line(c, i).x + index.at * c.stride] : 0;
}
