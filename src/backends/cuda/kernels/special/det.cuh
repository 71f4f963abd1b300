// Det: a block a matrix, elimination with row pivots in scratch memory.
// The problem: kThreads; Constants {n: rows of a matrix}; operand matrix: room for all of them, in f64.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ double value;
  __shared__ int row;
  const int t = threadIdx.x;
  const s64 n = c.n, at = (s64)blockIdx.x * (n * n);
  double* m = p.matrix + at;
  for (int e = t; e < n * n; e += kThreads) m[e] = (double)w_get(p.x0[at + e]);
  double det = 1;
  for (int k = 0; k < c.n; ++k) {
    __syncthreads();
    if (t == 0) {
      int best = k;
      for (int r = k + 1; r < c.n; ++r)
        if (fabs(m[r * n + k]) > fabs(m[best * n + k])) best = r;
      row = best;
      value = m[best * n + k];
    }
    __syncthreads();
    const double top = value;
    const int pivot = row;
    det *= top;
    if (top == 0) {
      det = 0;
      break;
    }
    if (pivot != k) {
      det = -det;
      for (int j = k + t; j < c.n; j += kThreads) {
        const double v = m[k * n + j];
        m[k * n + j] = m[pivot * n + j];
        m[pivot * n + j] = v;
      }
    }
    __syncthreads();
    // The column itself is not written: every thread reads its factor there.
    const int rest = c.n - k - 1;
    for (s64 e = t; e < (s64)rest * rest; e += kThreads) {
      const s64 r = k + 1 + e / rest, j = k + 1 + e % rest;
      m[r * n + j] -= m[r * n + k] / top * m[k * n + j];
    }
  }
  if (t == 0) p.y0[blockIdx.x] = Put<Y0>::to((Reg<Y0>::t)det);
}
