// The results of reduce/columns_parts.cuh from its shares.
// The problem: that of reduce/reductions.cuh; Reduction; kThreads; Constants {count: of results, shares, length};
//   Kept kept(c, i) and epilogue(p, c, f, at) as in reduce/columns.cuh
#pragma once
#include "backends/cuda/kernels/reduce/reductions.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  A s = p.part[i];
#pragma unroll 8
  for (int k = 1; k < c.shares; ++k) s = Reduction::Join()(s, p.part[(s64)k * c.count + i]);
  const Kept at = kept(c, i);
  p.y[at.y] = epilogue(p, c, Reduction::end(s, c), at);
}
