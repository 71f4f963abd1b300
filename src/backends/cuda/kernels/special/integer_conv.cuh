// ConvInteger: a thread a result.
// The problem: kThreads; kAxes: of an image; kZeroX, kZeroF: x2 and x3 are the zero points of x0 and x1; kZeroEach: the
// latter one for each channel; Constants {count: results; outputs: channels; per_group: of them; channels: of a filter;
// image, plane, filter, window: elements of an image of x0, of a channel of it, of a filter and of a channel of one};
//   result(c, a), extent(c, a), taps(c, a)         extents of y, x0 and x1 along axis a of an image
//   stride(c, a), dilation(c, a), pad(c, a)        of the windows
//   step(c, a), tap_step(c, a)                     strides of x0 and x1
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

// Sums what the window sees along the axes from `AXIS` on.
template <int AXIS>
W_FN void add_window(const Operands& p, const Constants& c, const int* at, s64 x, s64 f, int zx, int zf, u32* sum) {
  if constexpr (AXIS == kAxes) {
    *sum += (u32)(((int)p.x0[x] - zx) * ((int)p.x1[f] - zf));
  } else {
    for (int t = 0; t < taps(c, AXIS); ++t) {
      const int q = at[AXIS] * stride(c, AXIS) - pad(c, AXIS) + t * dilation(c, AXIS);
      if (q < 0 || q >= extent(c, AXIS)) continue;
      add_window<AXIS + 1>(p, c, at, x + q * (s64)step(c, AXIS), f + t * (s64)tap_step(c, AXIS), zx, zf, sum);
    }
  }
}

template <class P>
W_FN void kernel(const P& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  s64 rest = i;
  int at[kAxes];
#pragma unroll
  for (int a = kAxes - 1; a >= 0; --a) {
    at[a] = (int)(rest % result(c, a));
    rest /= result(c, a);
  }
  const int m = (int)(rest % c.outputs), n = (int)(rest / c.outputs);
  int zx = 0, zf = 0;
  if constexpr (kZeroX) zx = (int)w_get(p.x2[0]);
  if constexpr (kZeroF) zf = (int)w_get(p.x3[kZeroEach ? m : 0]);
  u32 sum = 0;
  for (int k = 0; k < c.channels; ++k)
    add_window<0>(p, c, at, n * (s64)c.image + (m / c.per_group * c.channels + k) * (s64)c.plane,
                  m * (s64)c.filter + k * (s64)c.window, zx, zf, &sum);
  p.y0[i] = (int)sum;
}
