// The number that each place's group has in the result, and, by its first place, how many places are of it.
// The problem: kThreads; kSorted: the groups stay in order, otherwise as `shown` says; Constants {count: places}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const int g = p.group[i], begins = p.start[g], e = p.order[i];
  const s64 total = *p.total;
  p.way[e] = kSorted ? g : p.shown[p.order[begins]];
  if (begins == i) p.members[e] = (int)((g + 1 < total ? p.start[g + 1] : c.count) - begins);
}
