// Where results come from whose places numbers say that may be known only when the kernel runs.
// The problem: kRank;
//   extent(c, k), stride(c, k)   of x along axis k
//   result(c, k)                 extent of y
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

struct Source {
  s64 at;
  bool inside;
};

// Of result i. `place(k, at, &inside)`: where place `at` of axis k comes from.
template <class Place>
W_FN Source source_of(const Constants& c, s64 i, Place place) {
  Source source = {0, true};
#pragma unroll
  for (int k = kRank - 1; k >= 0; --k) {
    const s64 at = place(k, i % result(c, k), &source.inside);
    i /= result(c, k);
    if (at < 0 || at >= extent(c, k)) source.inside = false;
    source.at += at * stride(c, k);
  }
  return source;
}
