// Multinomial: a thread a sample, which goes over its row's classes. The problem: kThreads; Constants {count, samples:
// of a row, classes}.
#pragma once
#include "backends/cuda/kernels/common/philox.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 first = i / c.samples * c.classes;
  double top = (double)w_get(p.x1[first]), sum = 0;
  for (s64 k = 1; k < c.classes; ++k) {
    const double v = (double)w_get(p.x1[first + k]);
    if (top < v) top = v;
  }
  for (s64 k = 0; k < c.classes; ++k) sum += w_exp((double)w_get(p.x1[first + k]) - top);
  const double at = w_draw(p.x0, i).uniform * sum;
  double up_to = 0;
  s64 found = c.classes - 1;
  for (s64 k = 0; k < c.classes; ++k) {
    up_to += w_exp((double)w_get(p.x1[first + k]) - top);
    if (at < up_to) {
      found = k;
      break;
    }
  }
  p.y0[i] = (Y0)found;
}
