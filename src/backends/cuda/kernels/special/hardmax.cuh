// Hardmax: a thread a line. The problem: kThreads; Constants {count: lines; extent: of the axis; inner: elements behind
// it}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 base = i / c.inner * ((s64)c.extent * c.inner) + i % c.inner;
  int best = 0;
  auto top = w_get(p.x0[base]);
  for (int k = 1; k < c.extent; ++k) {
    const auto v = w_get(p.x0[base + (s64)k * c.inner]);
    if (v > top) {
      top = v;
      best = k;
    }
  }
  for (int k = 0; k < c.extent; ++k) p.y0[base + (s64)k * c.inner] = Put<Y0>::to(k == best ? 1 : 0);
}
