// TensorScatter: a thread a result, from the cache x0 or the update x1. A start outside a linear cache writes nothing.
// The problem: kThreads, kCircular; kStarts: x2 says where updates begin; Constants {count; inner: elements behind the
// axis; extent: of the axis; length: of updates; lines: a sequence}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

template <class P>
W_FN void kernel(const P& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 inside = i % c.inner, rest = i / c.inner, at = rest % c.extent, line = rest / c.extent;
  s64 written = 0;
  if constexpr (kStarts) written = (s64)w_get(p.x2[line / c.lines]);
  s64 k = at - written;
  bool fits = written >= 0 && written <= c.extent - c.length;
  if (kCircular) {
    const s64 start = (written % c.extent + c.extent) % c.extent;
    k = (at - start + c.extent) % c.extent;
    fits = true;
  }
  p.y0[i] = fits && k >= 0 && k < c.length ? p.x1[(line * c.length + k) * c.inner + inside] : p.x0[i];
}
