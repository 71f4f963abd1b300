// Windows over channels-last images: a thread takes kVector channels and a strip of kResults neighbours along a row, so
// that what their windows share is read once.
// The problem: X; kThreads, kVector, kResults; kKernelH, kKernelW: the window's extents; kStrideW, kDilationW;
// Constants {threads: in all; packs, strips, out_h: of channels, along a row, rows of results; out_w; in_h, in_w,
// channels; stride_h, dilation_h, top, left: of the window};
//   Pack<Y, kVector> results(p, c, a, n, channel, oy, ox)   what is stored where `a` are the results for such a pixel
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

struct Strip {
  int channel, ox, oy, n;  // the first channel, column of the first result, row, image
};

// False: there is nothing for this thread.
W_FN bool this_strip(const Constants& c, Strip* s) {
  const u32 i = blockIdx.x * (u32)kThreads + threadIdx.x;
  if (i >= (u32)c.threads) return false;
  s->channel = (int)(i % (u32)c.packs) * kVector;
  u32 rest = i / (u32)c.packs;
  s->ox = (int)(rest % (u32)c.strips) * kResults;
  rest /= (u32)c.strips;
  s->oy = (int)(rest % (u32)c.out_h);
  s->n = (int)(rest / (u32)c.out_h);
  return true;
}

// Every element of the strip's windows, once: row(ky) where a row of the window begins, take(v, t, kx) for a pack of x
// that result t has at column kx of its window; Read: what such a pack is read as.
template <class Read = Pack<X, kVector>, class Row, class Take>
W_FN void each_element(const X* x, const Constants& c, const Strip& s, Row row, Take take) {
  constexpr int kAcross = (kResults - 1) * kStrideW + (kKernelW - 1) * kDilationW + 1;
#pragma unroll
  for (int ky = 0; ky < kKernelH; ++ky) {
    const int iy = s.oy * c.stride_h - c.top + ky * c.dilation_h;
    if (iy < 0 || iy >= c.in_h) continue;
    const X* xr = x + ((s.n * c.in_h + iy) * c.in_w) * c.channels + s.channel;
    row(ky);
#pragma unroll
    for (int j = 0; j < kAcross; ++j) {
      const int ix = s.ox * kStrideW - c.left + j;
      if (ix < 0 || ix >= c.in_w) continue;
      const Read v = *(const Read*)(xr + ix * c.channels);
#pragma unroll
      for (int t = 0; t < kResults; ++t) {
#pragma unroll
        for (int kx = 0; kx < kKernelW; ++kx)
          if (t * kStrideW + kx * kDilationW == j) take(v, t, kx);
      }
    }
  }
}

W_FN void store(const Operands& p, const Constants& c, const Strip& s, const float (&a)[kResults][kVector]) {
#pragma unroll
  for (int t = 0; t < kResults; ++t) {
    if (s.ox + t >= c.out_w) continue;
    const int at = ((s.n * c.out_h + s.oy) * c.out_w + s.ox + t) * c.channels + s.channel;
    *(Pack<Y, kVector>*)(p.y + at) = results(p, c, a[t], s.n, s.channel, s.oy, s.ox + t);
  }
}
