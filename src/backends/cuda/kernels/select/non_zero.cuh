// NonZero: the places of what is not 0, a row of the result an axis.
// The problem: that of select/parts.cuh; kRank; extent(c, k): of axis k.
#pragma once
#include "backends/cuda/kernels/select/parts.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const Part part = this_part(c);
  s64 at = number_of_first(p.x, part, p.sums);
  const s64 total = *p.total;
  for (s64 i = part.first; i < part.last; ++i) {
    if (!counts(p.x[i])) continue;
    s64 rest = i;
#pragma unroll
    for (int k = kRank - 1; k >= 0; --k) {
      p.y[k * total + at] = rest % extent(c, k);
      rest /= extent(c, k);
    }
    ++at;
  }
}
