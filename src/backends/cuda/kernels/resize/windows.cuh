// Resizing by windows of any width: cubic, antialiased, without what is outside, or of integers.
// The problem: that of resize/places.cuh, axes in the order of their sums, outermost first; kCubic, with kCubicA;
// kExclude: elements outside weigh nothing; stretch(k): how much narrower the window is than the source's distances
#pragma once
#include "backends/cuda/kernels/resize/places.cuh"

// Products that are not fused with the sum behind them: integers are rounded in the end, where the last bit may decide.
#ifdef WOOTZ_ON_HOST
#define w_exact(a, b) ((double)(a) * (double)(b))
#else
#define w_exact(a, b) __dmul_rn((double)(a), (double)(b))
#endif

W_FN double w_tent(double d) { return d < 1 ? 1 - d : 0; }

W_FN double w_cubic(double d, double a) {
  if (d <= 1) return w_exact(w_exact(w_exact(a + 2, d) - (a + 3), d), d) + 1;
  return d < 2 ? w_exact(w_exact(w_exact(a, d) - w_exact(5, a), d) + w_exact(8, a), d) - w_exact(4, a) : 0;
}

// The elements along an axis that a result sums.
struct Window {
  double center, total;
  s64 first, last;
};

W_FN double weight(const Constants& c, int k, s64 q, double center) {
  if (kExclude && (q < 0 || q > last(c, k))) return 0;
  const double distance = w_exact(fabs((double)q - center), stretch(k));
  return kCubic ? w_cubic(distance, kCubicA) : w_tent(distance);
}

W_FN Window window(const Constants& c, int k, double center) {
  const double reach = (kCubic ? 2 : 1) / stretch(k);
  Window w = {center, 0, (s64)ceil(center - reach), (s64)floor(center + reach)};
  for (s64 q = w.first; q <= w.last; ++q) w.total += weight(c, k, q, center);
  if (w.total == 0) w.total = 1;
  if (!kWhole) w.total = 1 / w.total;
  return w;
}

// Along each axis the sums of the one before it are summed, as the definition goes.
template <int K>
W_FN double sum(const X* x, const Constants& c, s64 from, const Window* along) {
  if constexpr (K == kMoving) {
    return (double)w_get(x[from]);
  } else {
    const Window& w = along[K];
    double total = 0;
    for (s64 q = w.first; q <= w.last; ++q) {
      const double g = weight(c, K, q, w.center), share = kWhole ? g / w.total : g * w.total;
      const s64 at = q < 0 ? 0 : q > last(c, K) ? last(c, K) : q;
      total += w_exact(share, sum<K + 1>(x, c, from + at * stride(c, K), along));
    }
    return total;
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  typedef typename Reg<X>::t R;
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const Place at = place(c, i);
  const Coordinates of = coordinates(c, at);
  if (kCrop && of.outside) {
    p.y[i] = beyond<X>();
    return;
  }
  Window along[kMoving > 0 ? kMoving : 1];
#pragma unroll
  for (int k = 0; k < kMoving; ++k) along[k] = window(c, k, of.at[k]);
  const double value = sum<0>(p.x, c, at.from, along);
  if constexpr (kWhole)
    p.y[i] = Put<X>::to(w_sat<R>(rint(value)));
  else
    p.y[i] = Put<X>::to((R)value);
}
