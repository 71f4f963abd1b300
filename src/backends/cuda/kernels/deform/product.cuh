// DeformConv: a thread computes kTogether channels of a pixel, so that it reads each number of its column once.
// The problem: A: type of sums; kThreads, kTogether; kBias: x3 is added; Constants {count: threads; points: of a
// result; outputs: channels; depth: of a filter; rows: of the columns of an image; per_group: channels}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

template <class P>
W_FN void kernel(const P& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 point = i % c.points, rest = i / c.points, m = rest % (c.outputs / kTogether) * kTogether,
            n = rest / (c.outputs / kTogether);
  const X1* weights = p.x1 + m * c.depth;
  const A* column = p.columns + (n * c.rows + m / c.per_group * c.depth) * c.points + point;
  A sum[kTogether];
#pragma unroll
  for (int k = 0; k < kTogether; ++k) {
    sum[k] = 0;
    if constexpr (kBias) sum[k] = (A)w_get(p.x3[m + k]);
  }
  for (int d = 0; d < c.depth; ++d) {
    const A v = column[(s64)d * c.points];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) sum[k] += v * (A)w_get(weights[d + (s64)k * c.depth]);
  }
#pragma unroll
  for (int k = 0; k < kTogether; ++k)
    p.y0[(n * c.outputs + m + k) * c.points + point] = Put<Y0>::to((typename Reg<Y0>::t)sum[k]);
}
