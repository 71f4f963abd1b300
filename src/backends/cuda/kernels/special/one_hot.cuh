// OneHot: a thread a result. The problem: kThreads; Constants {count; depth: of the new axis; inner: elements behind
// it}. x2 holds the values off and on.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 inside = i % c.inner, rest = i / c.inner, j = rest % c.depth, outer = rest / c.depth;
  const auto written = w_get(p.x0[outer * c.inner + inside]);
  const s64 at = w_cast<s64>(written);
  const bool whole = (Reg<X0>::t)at == written;
  p.y0[i] = p.x2[whole && (at == j || at + c.depth == j) ? 1 : 0];
}
