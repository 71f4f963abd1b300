// STFT: a thread a result, by its definition.
// The problem: A: type of sums; kThreads; kParts: 1 or 2, of an element of x0; kWindowed: x2 is the window; Constants
// {count: results; n: of a frame; length: of a signal; step, frames, bins}; operand roots: as special/roots.cuh makes
// them
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

template <class P>
W_FN void kernel(const P& p, const Constants& c) {
  typedef typename Reg<Y0>::t R;
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 k = i % c.bins, rest = i / c.bins, frame = rest % c.frames, signal = rest / c.frames;
  A re = 0, im = 0;
  int at = 0;
  for (int e = 0; e < c.n; ++e) {
    const s64 from = (signal * c.length + frame * c.step + e) * kParts;
    A v = 1;
    if constexpr (kWindowed) v = (A)w_get(p.x2[e]);
    const A a = (A)w_get(p.x0[from]) * v, r = p.roots[at * 2], s = -p.roots[at * 2 + 1];
    if constexpr (kParts == 2) {
      const A b = (A)w_get(p.x0[from + 1]) * v;
      re += a * r - b * s;
      im += a * s + b * r;
    } else {
      re += a * r;
      im += a * s;
    }
    at += (int)k;
    if (at >= c.n) at -= c.n;
  }
  p.y0[i * 2] = Put<Y0>::to((R)re);
  p.y0[i * 2 + 1] = Put<Y0>::to((R)im);
}
