// A tensor in u8 by the range that special/range_parts.cuh found; each block joins the parts for itself.
// The problem: kThreads; kEach: elements of a thread; Constants {count: of elements; parts}; operands x0, y0, y1 (the
// scale), y2 (the zero point) and ranges.
#pragma once
#include "backends/cuda/kernels/common/groups.cuh"
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN float byte_of(float v) { return v != v ? 0.0f : fminf(255.0f, fmaxf(0.0f, v)); }

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ float shared[kThreads];
  float low = 0, high = 0;
  for (int part = threadIdx.x; part < c.parts; part += kThreads) {
    low = w_min(low, p.ranges[part * 2]);
    high = w_max(high, p.ranges[part * 2 + 1]);
  }
  low = w_group<1, kThreads, true>(low, shared, Min());
  high = w_group<1, kThreads, true>(high, shared, Max());
  const float scale = (high - low) / 255.0f, divisor = scale == 0.0f ? 1.0f : scale;
  const float zero = byte_of(rintf(-low / divisor));
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    p.y1[0] = scale;
    p.y2[0] = (Y2)zero;
  }
  const s64 first = (s64)blockIdx.x * (kThreads * kEach) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const s64 e = first + k * kThreads;
    if (e < c.count) p.y0[e] = (Y0)byte_of(rintf(w_get(p.x0[e]) / divisor) + zero);
  }
}
