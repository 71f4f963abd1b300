// TensorScatter: the cache x0 with the update x1 in it. Where the result is the cache's own memory, only the update is
// written, so that a step costs as much as what is new; otherwise each result. A start outside a linear cache writes
// nothing. The problem: kThreads, kCircular; kStarts: x2 says where updates begin; Constants {count; updates: elements
// of them; stride: threads of the launch; inner: elements after the axis; extent: of the axis; length: of updates;
// lines: a sequence}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

// Where the update of a line begins; -1: nowhere.
template <class P>
W_FN s64 start_of(const P& p, const Constants& c, s64 line) {
  s64 written = 0;
  if constexpr (kStarts) written = (s64)w_get(p.x2[line / c.lines]);
  if (kCircular) return (written % c.extent + c.extent) % c.extent;
  return written >= 0 && written <= c.extent - c.length ? written : -1;
}

template <class P>
W_FN void kernel(const P& p, const Constants& c) {
  const s64 first = (s64)blockIdx.x * kThreads + threadIdx.x;
  if ((const void*)p.x0 == (const void*)p.y0) {
    for (s64 i = first; i < c.updates; i += c.stride) {
      const s64 inside = i % c.inner, rest = i / c.inner, line = rest / c.length;
      const s64 start = start_of(p, c, line), at = start + rest % c.length;
      if (start >= 0) p.y0[(line * c.extent + (at < c.extent ? at : at - c.extent)) * c.inner + inside] = p.x1[i];
    }
    return;
  }
  for (s64 i = first; i < c.count; i += c.stride) {
    const s64 inside = i % c.inner, rest = i / c.inner, line = rest / c.extent;
    const s64 start = start_of(p, c, line), after = rest % c.extent - start, k = after < 0 ? after + c.extent : after;
    const bool fresh = start >= 0 && k < c.length && (kCircular || after >= 0);
    p.y0[i] = fresh ? p.x1[(line * c.length + k) * c.inner + inside] : p.x0[i];
  }
}
