// AffineGrid: a thread a result. The problem: kThreads; kAxes: of an image; kAlign: as in special/taps.cuh; Constants
// {count}; extent(c, k): of the result along axis k of an image, the last one first.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const int r = (int)(i % kAxes);
  s64 rest = i / kAxes;
  double point[kAxes], sum = 0;
#pragma unroll
  for (int k = 0; k < kAxes; ++k) {
    const double at = (double)(rest % extent(c, k));
    rest /= extent(c, k);
    if (kAlign)
      point[k] = extent(c, k) == 1 ? -1.0 : -1 + 2.0 * at / (double)(extent(c, k) - 1);
    else
      point[k] = (2.0 * at + 1) / (double)extent(c, k) - 1;
  }
#pragma unroll
  for (int k = 0; k < kAxes; ++k) sum += point[k] * (double)w_get(p.x0[(rest * kAxes + r) * (kAxes + 1) + k]);
  sum += (double)w_get(p.x0[(rest * kAxes + r) * (kAxes + 1) + kAxes]);
  p.y0[i] = Put<Y0>::to((Reg<Y0>::t)sum);
}
