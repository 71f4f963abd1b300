// A product of matrices, a thread a result.
// The problem: A, R: type of the sum, and of the result; X; kThreads, kAlpha; Constants {count, depth; a_step, b_step:
// between the elements that are multiplied};
//   Place place(c, i)        where the row, the column and the bias of result i are: {a, b, ...}
//   A plus_bias(p, s, at)
//   epilogue(p, c, f, at)    the expression behind it
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const u32 i = blockIdx.x * (u32)kThreads + threadIdx.x;
  if (i >= (u32)c.count) return;
  const Place at = place(c, i);
  const X *a = p.a + at.a, *b = p.b + at.b;
  A s = 0;
#pragma unroll 4
  for (int k = 0; k < c.depth; ++k) s += (A)w_get(a[(s64)k * c.a_step]) * (A)w_get(b[(s64)k * c.b_step]);
  if (kAlpha != 1) s *= (A)kAlpha;
  p.y[i] = epilogue(p, c, (R)plus_bias(p, s, at), at);
}
