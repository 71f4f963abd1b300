// Compress: an element of x a thread, to the places of select/places.cuh along an axis.
// The problem: kThreads; Constants {count: elements of x; extent: of the axis; inner: elements behind it; places: how
// many there are}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 inside = i % c.inner, rest = i / c.inner, e = rest % c.extent, outer = rest / c.extent;
  if (e >= c.places) return;
  const s64 total = *p.total, at = p.places[e];
  if (at >= 0) p.y[(outer * total + at) * c.inner + inside] = p.x[i];
}
