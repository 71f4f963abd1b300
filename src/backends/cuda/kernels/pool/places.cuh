// The largest of a window, and which element of its image it is.
// The problem: that of pool/taps.cuh; Constants {plane: elements of an image's channel; for k = 0..2: index<k>, what a
// step along the axis adds to an element's number}.
#pragma once
#include "backends/cuda/kernels/pool/taps.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  u32 i;
  if (!this_result(c, &i)) return;
  const Place at = place_of(c, i);
  A a = lowest<A>();
  Offset best = -1;  // from the window's corner on
  each_tap(p, c, at, [&](A v, int s0, int s1, int s2) {
    if (best < 0 || v > a || (v != v && a == a)) {
      a = v;
      best = (Offset)s0 * c.index0 + (Offset)s1 * c.index1 + (Offset)s2 * c.index2;
    }
  });
  const Corner corner = corner_of(c, at);
  const Offset first = (Offset)corner.q0 * c.index0 + (Offset)corner.q1 * c.index1 + (Offset)corner.q2 * c.index2;
  p.place[at.y] = ((s64)at.n * c.channels + at.channel) * c.plane + (best < 0 ? (Offset)-1 : first + best);
  p.y[at.y] = epilogue(p, c, (R)a, at);
}
