// Scatter by elements that combines: a thread takes a line along the axis, so that what meets in one element is taken
// in the order of the updates. The problem: that of scatter/combine.cuh; kThreads; Constants {count: lines; length,
// step: of the updates along the axis; extent, stride: of y};
//   Line line(c, i)   where line i begins in y and in the updates
#pragma once
#include "backends/cuda/kernels/scatter/combine.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const Line at = line(c, i);
  for (int k = 0; k < c.length; ++k) {
    const s64 from = at.update + (s64)k * c.step;
    const Index index = index_along((s64)p.index[from], c.extent);
    if (index.inside) combine(p.y + at.y + index.at * c.stride, p.updates[from]);
  }
}
