// Depthwise convolution. The problem: that of common/strip.cuh; the filters f lie as [h, w, channel];
//   float bias(p, channel)   where a sum starts
#pragma once
#include "backends/cuda/kernels/common/strip.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  Strip s;
  if (!this_strip(c, &s)) return;
  float a[kResults][kVector];
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    const float start = bias(p, s.channel + k);
#pragma unroll
    for (int t = 0; t < kResults; ++t) a[t][k] = start;
  }
  float g[kKernelW][kVector];  // a row of the filters
  const auto read_filters = [&](int ky) {
#pragma unroll
    for (int kx = 0; kx < kKernelW; ++kx) {
      const Pack<X, kVector> h = *(const Pack<X, kVector>*)(p.f + (ky * kKernelW + kx) * c.channels + s.channel);
#pragma unroll
      for (int k = 0; k < kVector; ++k) g[kx][k] = w_get(h.v[k]);
    }
  };
  each_element(p.x, c, s, read_filters, [&](const Pack<X, kVector>& v, int t, int kx) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) a[t][k] += w_get(v.v[k]) * g[kx][k];
  });
  store(p, c, s, a);
}
