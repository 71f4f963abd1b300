// Trilu: a thread a result. The problem: kThreads, kUpper; kGiven: x1 says where the diagonal is; Constants {count,
// rows, columns; diagonal: unless x1 says it}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

template <class P>
W_FN void kernel(const P& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 column = i % c.columns, row = i / c.columns % c.rows;
  s64 k = c.diagonal;
  if constexpr (kGiven) k = w_clip<s64>((s64)w_get(p.x1[0]), -(s64)c.rows, c.columns);
  p.y0[i] = (kUpper ? column >= row + k : column <= row + k) ? p.x0[i] : Put<Y0>::to(0);
}
