// GridSample: a thread a result.
// The problem: that of special/taps.cuh; kThreads; kAxes: of an image; Constants {count: results; points: of an image;
// channels; plane: elements of a channel};
//   extent(c, a), stride(c, a)   of x along axis a of an image
#pragma once
#include "backends/cuda/kernels/special/taps.cuh"

// Sums along the axes from `AXIS` on, times `weight`.
template <int AXIS>
W_FN void add_taps(const X0* x, const Constants& c, const Taps* taps, s64 at, double weight, double* sum) {
  if constexpr (AXIS == kAxes) {
    *sum += weight * (double)w_get(x[at]);
  } else {
#pragma unroll
    for (int k = 0; k < kTaps; ++k)
      if (taps[AXIS].weight[k] != 0)
        add_taps<AXIS + 1>(x, c, taps, at + taps[AXIS].at[k] * stride(c, AXIS), weight * taps[AXIS].weight[k], sum);
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 point = i % c.points, plane = i / c.points, n = plane / c.channels;
  Taps taps[kAxes];
#pragma unroll
  for (int a = 0; a < kAxes; ++a)
    taps[a] = w_taps((double)w_get(p.x1[(n * c.points + point) * kAxes + kAxes - 1 - a]), extent(c, a));
  double sum = 0;
  add_taps<0>(p.x0, c, taps, plane * c.plane, 1.0, &sum);
  p.y0[i] = Put<Y0>::to((Reg<Y0>::t)sum);
}
