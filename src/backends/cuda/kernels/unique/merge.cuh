// Pairs of sorted runs become one each: an element finds its place in the other run by bisection.
// The problem: that of unique/compare.cuh; kThreads; Constants {count: places; run: their length}.
#pragma once
#include "backends/cuda/kernels/unique/compare.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 own = i / c.run * c.run, pair = i / (c.run * 2) * (c.run * 2);
  const bool left = own == pair;
  s64 low = left ? pair + c.run : pair, end = low + c.run;
  if (low > c.count) low = c.count;
  if (end > c.count) end = c.count;
  const s64 first = low;
  const int e = p.from[i];
  while (low < end) {
    const s64 middle = (low + end) / 2;
    const int order = compare_slices(p.x, c, p.from[middle], e);
    if (left ? order < 0 : order <= 0)
      low = middle + 1;
    else
      end = middle;
  }
  p.to[pair + (i - own) + (low - first)] = e;
}
