// A thread computes kVector neighbours in the results' memory.
// The problem: Constants {count: of vectors}; the expression with its operands as
//   At at(c, i)            where vector i lies in each of them
//   Inputs read(p, at)     a vector of each operand, or the one element that all of them share
//   compute(in, k, &out)   results k
//   write(p, at, out)
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const At place = at(c, i);
  const Inputs in = read(p, place);
  Outputs out;
#pragma unroll
  for (int k = 0; k < kVector; ++k) compute(in, k, &out);
  write(p, place, out);
}
