// A convolution, also a transposed one, a thread a result: for what nothing else takes.
// The problem: that of common/window.cuh; X, F; R: type of the result; kTransposed; kZero: x's; kScaled: the sum has a
// factor by channel, which lies behind the weights; Constants {per_in, per_out: channels of a group; for k = 0..2:
// x_stride<k>, f_stride<k>; x_image, x_group, x_channel, f_group, f_out, f_in: strides; scales: elements before the
// factors};
//   A start(p, channel), R plus_bias(p, f, channel)   one of the two adds the bias
//   epilogue(p, c, f, at)                             the expression behind it
#pragma once
#include "backends/cuda/kernels/common/window.cuh"

// The coordinate of x that tap t of result d reads along an axis; false: it has none.
W_FN bool read_at(int d, int t, int stride, int pad, int dilation, int extent, int* q) {
  if constexpr (kTransposed) {
    const int u = d + pad - t * dilation;
    *q = u / stride;
    return u >= 0 && u % stride == 0 && *q < extent;
  }
  *q = d * stride - pad + t * dilation;
  return *q >= 0 && *q < extent;
}

W_FN void kernel(const Operands& p, const Constants& c) {
  u32 i;
  if (!this_result(c, &i)) return;
  const Place at = place_of(c, i);
  A a = start(p, at.channel);
  const int g = at.channel / c.per_out, m = at.channel % c.per_out;
  const s64 base = (s64)at.n * c.x_image + (s64)g * c.x_group;
  const s64 weights = kTransposed ? (s64)g * c.f_group + (s64)m * c.f_out : (s64)at.channel * c.f_out;
#pragma unroll 1
  for (int t0 = 0; t0 < c.kernel0; ++t0) {
    int q0, q1, q2;
    if (!read_at(at.d0, t0, c.stride0, c.pad0, c.dilation0, c.in0, &q0)) continue;
#pragma unroll 1
    for (int t1 = 0; t1 < c.kernel1; ++t1) {
      if (!read_at(at.d1, t1, c.stride1, c.pad1, c.dilation1, c.in1, &q1)) continue;
#pragma unroll 1
      for (int t2 = 0; t2 < c.kernel2; ++t2) {
        if (!read_at(at.d2, t2, c.stride2, c.pad2, c.dilation2, c.in2, &q2)) continue;
        const X* xp = p.x + (base + (s64)q0 * c.x_stride0 + (s64)q1 * c.x_stride1 + (s64)q2 * c.x_stride2);
        const F* fp = p.f + (weights + t0 * c.f_stride0 + t1 * c.f_stride1 + t2 * c.f_stride2);
#pragma unroll 4
        for (int k = 0; k < c.per_in; ++k)
          a += ((A)w_get(xp[(s64)k * c.x_channel]) - (A)kZero) * (A)w_get(fp[(s64)k * c.f_in]);
      }
    }
  }
  R f = (R)a;
  if constexpr (kScaled) f = f * ((const float*)(p.f + c.scales))[at.channel];
  p.y[at.y] = epilogue(p, c, plus_bias(p, f, at.channel), at);
}
