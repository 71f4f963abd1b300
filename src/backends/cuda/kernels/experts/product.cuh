// ExpertProduct: a thread a result. The problem: A: type of sums; kThreads; kOwn: each row of the result has a row of
// x; Constants {count: of results, slots: rows that share one of x, experts, depth, columns};
//   bias(p, i)   what the sum of column i of all experts' begins with
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 row = i / c.columns, column = i % c.columns, expert = (s64)p.x1[row];
  A sum = 0;
  if (expert >= 0 && expert < c.experts) {
    const X0* const x = p.x0 + (kOwn ? row : row / c.slots) * c.depth;
    const X2* const w = p.x2 + expert * c.depth * c.columns + column;
    sum = bias(p, expert * c.columns + column);
#pragma unroll 4
    for (s64 d = 0; d < c.depth; ++d) sum += (A)w_get(x[d]) * (A)w_get(w[d * c.columns]);
  }
  p.y0[i] = Put<Y0>::to((Reg<Y0>::t)sum);
}
