// Numbers the flags that are set: where the k-th is, and how many there are up to each place, less one.
// The problem: that of select/parts.cuh.
#pragma once
#include "backends/cuda/kernels/select/parts.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const Part part = this_part(c);
  s64 at = number_of_first(p.x, part, p.sums);
  for (s64 i = part.first; i < part.last; ++i) {
    if (counts(p.x[i])) p.where[at++] = (int)i;
    p.upto[i] = (int)at - 1;
  }
}
