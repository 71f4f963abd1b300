// The largest or the mean of windows.
// The problem: that of common/strip.cuh; kMax, or the mean is asked for; Constants {first_row, end_row, first_column,
// end_column: of the input, with the padding that counts}.
#pragma once
#include "backends/cuda/kernels/common/strip.cuh"

template <class T>
W_FN float lowest() {
  if constexpr (IsF<typename Reg<T>::t>::v)
    return -W_INF;
  else
    return (float)Lim<T>::lo;
}

// Of `count` positions from `start` on, those in [first, end).
template <int COUNT>
W_FN int positions(int start, int step, int first, int end) {
  int inside = 0;
#pragma unroll
  for (int q = 0; q < COUNT; ++q) {
    const int at = start + q * step;
    inside += at >= first && at < end;
  }
  return inside;
}

W_FN void kernel(const Operands& p, const Constants& c) {
  Strip s;
  if (!this_strip(c, &s)) return;
  float a[kResults][kVector];
#pragma unroll
  for (int t = 0; t < kResults; ++t) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) a[t][k] = kMax ? lowest<X>() : 0;
  }
  each_element(
      p.x, c, s, [](int) {},
      [&](const Pack<X, kVector>& v, int t, int) {
#pragma unroll
        for (int k = 0; k < kVector; ++k)
          if constexpr (kMax)
            a[t][k] = w_max<float>(a[t][k], w_get(v.v[k]));
          else
            a[t][k] += w_get(v.v[k]);
      });
  if constexpr (!kMax) {
#pragma unroll
    for (int t = 0; t < kResults; ++t) {
      const int rows = positions<kKernelH>(s.oy * c.stride_h - c.top, c.dilation_h, c.first_row, c.end_row);
      const int columns = positions<kKernelW>((s.ox + t) * kStrideW - c.left, kDilationW, c.first_column, c.end_column);
      const float by = rows * columns == 0 ? 0.0f : 1.0f / (float)(rows * columns);
#pragma unroll
      for (int k = 0; k < kVector; ++k) a[t][k] *= by;
    }
  }
  store(p, c, s, a);
}
