// LRN: a thread a result, which sums the squares of channels around its own.
// The problem: A; kThreads, kBias, kAlpha, kBeta; Constants {count, channels; inner: elements of a channel; before,
// after: channels that are summed}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const int channel = (int)(i / c.inner % c.channels);
  const int first = channel - c.before < 0 ? 0 : channel - c.before;
  const int last = channel + c.after > c.channels - 1 ? c.channels - 1 : channel + c.after;
  A sum = 0;
  for (int k = first; k <= last; ++k) {
    const A v = (A)w_get(p.x0[i + (s64)(k - channel) * c.inner]);
    sum += v * v;
  }
  p.y0[i] = Put<Y0>::to((A)w_get(p.x0[i]) / w_pow<A>((A)kBias + (A)kAlpha * sum, (A)kBeta));
}
