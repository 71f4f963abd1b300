// The largest of a window, and which element of its image it is.
// The problem: that of pool/taps.cuh; Constants {channels, plane: elements of an image's channel; for k = 0..2:
// index<k>, what a step along the axis adds to an element's number}.
#pragma once
#include "backends/cuda/kernels/pool/taps.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  u32 i;
  if (!this_result(c, &i)) return;
  const Place at = place(c, i);
  A a = lowest<A>();
  s64 best = -1;
  each_tap(p, c, at, [&](A v, int q0, int q1, int q2) {
    if (best < 0 || v > a || (v != v && a == a)) {
      a = v;
      best = (s64)q0 * c.index0 + (s64)q1 * c.index1 + (s64)q2 * c.index2;
    }
  });
  p.place[at.y] = ((s64)at.n * c.channels + at.channel) * c.plane + best;
  p.y[at.y] = epilogue(p, c, (R)a, at);
}
