// A few rows times a matrix, y[r, m] = sum over k of x[r, k] * f[m, k]: the matrix is read once, kVector elements a
// thread; kGroup threads share a column m of the result.
// The problem: X; kThreads, kRows, kVector, kGroup; kAlpha: a factor; Constants {columns, depth; packs: of the depth};
//   float plus_bias(p, c, s, r, m)
//   epilogue(p, c, s, r, m)    the expression behind it
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  constexpr int kColumns = kThreads / kGroup;
  __shared__ float shared[kThreads];
  const int lane = threadIdx.x % kGroup;
  const int m0 = blockIdx.x * kColumns + threadIdx.x / kGroup;
  const bool live = m0 < c.columns;
  const int m = live ? m0 : 0;
  const X* fm = p.f + (s64)m * c.depth;
  float a[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) a[r] = 0;
#pragma unroll 4
  for (int q = lane; q < c.packs; q += kGroup) {
    const Pack<X, kVector> h = *(const Pack<X, kVector>*)(fm + q * kVector);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const Pack<X, kVector> u = *(const Pack<X, kVector>*)(p.x + r * c.depth + q * kVector);
#pragma unroll
      for (int k = 0; k < kVector; ++k) a[r] += w_get(u.v[k]) * w_get(h.v[k]);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) a[r] = w_group<kColumns, kGroup, true>(a[r], shared, Sum());
  if (!live || lane != 0) return;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const float s = kAlpha == 1 ? a[r] : a[r] * (float)kAlpha;
    p.y[r * c.columns + m] = epilogue(p, c, plus_bias(p, c, s, r, m), r, m);
  }
}
