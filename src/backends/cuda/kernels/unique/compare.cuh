// How slices of x stand to each other. The problem: Constants {outer, n, inner: extents before, along and behind the
// axis}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

// Less than 0, 0 or more. NaN stands behind every number.
template <class T>
W_FN int w_order(T a, T b) {
  if (a != a || b != b) return (a != a ? 1 : 0) - (b != b ? 1 : 0);
  return a < b ? -1 : b < a ? 1 : 0;
}

template <class T>
W_FN int compare_slices(const T* x, const Constants& c, s64 a, s64 b) {
  for (s64 o = 0; o < c.outer; ++o)
    for (s64 i = 0; i < c.inner; ++i) {
      const int order = w_order(w_get(x[(o * c.n + a) * c.inner + i]), w_get(x[(o * c.n + b) * c.inner + i]));
      if (order != 0) return order;
    }
  return 0;
}
