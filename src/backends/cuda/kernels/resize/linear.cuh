// Resizing between neighbours along up to three axes. The problem: that of resize/places.cuh, axes outermost first;
// A: type of sums.
#pragma once
#include "backends/cuda/kernels/resize/places.cuh"

// Two neighbours along an axis, and how near to the higher one.
struct Between {
  s64 low, high;
  A share;
};

W_FN Between between(const Constants& c, int k, double v) {
  const double top = last(c, k);
  v = v < 0 ? 0 : v > top ? top : v;
  const double below = floor(v);
  const s64 low = (s64)below, high = low < last(c, k) ? low + 1 : low;
  return {low * stride(c, k), high * stride(c, k), (A)(float)(v - below)};
}

// Pairs along the last axis first, then pairs of those.
template <int K>
W_FN A blend(const X* x, s64 from, const Between* along) {
  if constexpr (K == kMoving) {
    return w_get(x[from]);
  } else {
    const A low = blend<K + 1>(x, from + along[K].low, along), high = blend<K + 1>(x, from + along[K].high, along);
    return low + (high - low) * along[K].share;
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const Place at = place(c, i);
  const Coordinates of = coordinates(c, at);
  Between along[kMoving > 0 ? kMoving : 1];
#pragma unroll
  for (int k = 0; k < kMoving; ++k) along[k] = between(c, k, of.at[k]);
  p.y[i] = kCrop && of.outside ? beyond<X>() : Put<X>::to(blend<0>(p.x, at.from, along));
}
