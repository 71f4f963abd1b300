// Tuples of indices. The problem: extent(c, k), stride(c, k) of what index k of a tuple counts.
#pragma once
#include "backends/cuda/kernels/common/indices.cuh"

// What a tuple of N indices leads to.
template <int N, class I>
W_FN Index index_of(const Constants& c, const I* tuple) {
  Index place = {0, true};
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const Index one = index_along((s64)tuple[k], extent(c, k));
    place.at += one.at * stride(c, k);
    place.inside = place.inside && one.inside;
  }
  return place;
}
