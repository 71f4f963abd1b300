// MatMulInteger: a thread a result.
// The problem: kThreads; kZeroA, kZeroB: x2 and x3 are the zero points of rows of x0 and columns of x1; Constants
// {count: results; rows, columns, depth; zeros_a, zeros_b: how many zero points there are};
//   Matrices matrices(c, i)   where matrix i of the results' is in x0 and x1, {a, b}
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

template <class P>
W_FN void kernel(const P& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 column = i % c.columns, rest = i / c.columns, row = rest % c.rows;
  const Matrices from = matrices(c, rest / c.rows);
  int za = 0, zb = 0;
  if constexpr (kZeroA) za = (int)w_get(p.x2[row % c.zeros_a]);
  if constexpr (kZeroB) zb = (int)w_get(p.x3[column % c.zeros_b]);
  u32 sum = 0;
  for (int k = 0; k < c.depth; ++k)
    sum += (u32)(((int)p.x0[from.a + row * c.depth + k] - za) * ((int)p.x1[from.b + (s64)k * c.columns + column] - zb));
  p.y0[i] = (int)sum;
}
