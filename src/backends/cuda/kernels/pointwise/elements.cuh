// A thread computes kEach neighbours of the results, whose operands may lie anywhere: results of few bits are whole
// bytes then. The problem: kThreads, kEach; Constants {groups: of kEach results; count: results};
//   At at(c, i)                 where element i lies in each operand
//   compute(p, at, k, &out)     result k of the thread: stored, or among the bits of `out`
//   write(p, c, g, out)         the bytes that have been collected, of group g
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 g = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (g >= c.groups) return;
  Outputs out{};
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const s64 i = g * kEach + k;
    if (i >= c.count) break;
    compute(p, at(c, i), k, &out);
  }
  write(p, c, g, out);
}
