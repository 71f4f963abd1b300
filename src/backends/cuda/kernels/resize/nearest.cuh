// Resizing to the nearest element. The problem: that of resize/places.cuh; Round: one of the below.
#pragma once
#include "backends/cuda/kernels/resize/places.cuh"

struct Down {
  static W_M double of(double v) { return floor(v); }
};

struct Up {
  static W_M double of(double v) { return ceil(v); }
};

struct HalfUp {
  static W_M double of(double v) { return floor(v + 0.5); }
};

struct HalfDown {
  static W_M double of(double v) { return ceil(v - 0.5); }
};

template <class P>
W_FN void kernel(const P& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const Place at = place(c, i);
  const Coordinates of = coordinates(c, at);
  s64 from = at.from;
#pragma unroll
  for (int k = 0; k < kMoving; ++k) {
    const double v = Round::of(of.at[k]), top = last(c, k);
    from += (s64)(v < 0 ? 0 : v > top ? top : v) * stride(c, k);
  }
  if constexpr (kCrop) {
    if (of.outside) {
      p.y[i] = beyond<X>();
      return;
    }
  }
  p.y[i] = p.x[from];
}
