// cos and sin of 2 pi k / n, for all k < n, from f64. The problem: A; kThreads; Constants {count: n}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const double angle = 6.283185307179586 * (double)i / (double)c.count;
  const double real = w_cos(angle), imaginary = w_sin(angle);
  p.roots[i * 2] = (A)real;
  p.roots[i * 2 + 1] = (A)imaginary;
}
