// The results of Unique that are places: of the first of each group, the group of each, and how many are of it.
// The problem: kThreads; kFirst, kInverse, kCounts: which of them are wanted; Constants {count: places}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

template <class P>
W_FN void kernel(const P& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  if constexpr (kFirst)
    if (p.first[i]) p.y1[p.way[i]] = i;
  if constexpr (kInverse) p.y2[i] = p.way[i];
  if constexpr (kCounts)
    if (p.first[i]) p.y3[p.way[i]] = p.members[i];
}
