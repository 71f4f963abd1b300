// Where each element that counts goes; -1: it does not. The problem: that of select/parts.cuh.
#pragma once
#include "backends/cuda/kernels/select/parts.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const Part part = this_part(c);
  s64 at = number_of_first(p.x, part, p.sums);
  for (s64 i = part.first; i < part.last; ++i) p.places[i] = counts(p.x[i]) ? at++ : -1;
}
