// The boxes that boxes/race.cuh found, as image, class and box.
// The problem: kThreads; Constants {count: most that can be found; most: of a class; classes: of an image; parts:
// classes of all images}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x, part = i / c.most, k = i % c.most;
  if (i >= c.count) return;
  const s64 from = p.sums[part], end = part + 1 < c.parts ? p.sums[part + 1] : *p.total;
  if (from + k >= end) return;
  s64* to = p.y + (from + k) * 3;
  to[0] = part / c.classes;
  to[1] = part % c.classes;
  to[2] = p.picked[i];
}
