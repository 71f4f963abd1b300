// Pooling of any kind, a thread a result. The problem: that of pool/taps.cuh.
#pragma once
#include "backends/cuda/kernels/pool/taps.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  u32 i;
  if (!this_result(c, &i)) return;
  const Place at = place_of(c, i);
  A a = Kind::start();
  int inside = 0;
  const int padded = each_tap(p, c, at, [&](A v, int, int, int) {
    ++inside;
    a = Kind::step(a, v);
  });
  p.y[at.y] = epilogue(p, c, Kind::end(a, inside, kWithPadding ? padded : inside), at);
}
