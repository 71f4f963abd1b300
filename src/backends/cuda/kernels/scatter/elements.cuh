// Scatter by elements: an index for each update, behind the copy of x. One outside its axis writes nothing.
// The problem: kThreads; Constants {count: updates; extent, stride: of y along the axis};
//   Line line(c, i)   where the line of update i begins in y
#pragma once
#include "backends/cuda/kernels/common/indices.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const Index index = index_along((s64)p.index[i], c.extent);
  if (index.inside) p.y[(s64)line(c, i).y + index.at * c.stride] = p.updates[i];
}
