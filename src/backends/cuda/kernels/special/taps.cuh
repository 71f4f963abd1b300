// Where GridSample reads an axis, and with what weights. Coordinates are in double, as in the reference: a point near
// the border of two elements goes to the same one.
// The problem: kMode: 0 nearest, 1 linear, 2 cubic; kPadding: 0 zeros, 1 the border, 2 its reflection; kAlign: -1 and 1
// are the centers of the first and last element, not their edges
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

constexpr int kTaps = kMode == 0 ? 1 : kMode == 1 ? 2 : 4;

struct Taps {
  s64 at[kTaps];
  double weight[kTaps];  // 0: there is no such tap
};

W_FN double w_reflect(double x, double low, double high) {
  const double span = high - low;
  if (span <= 0) return low;
  if (x >= low && x <= high) return x;
  const double over = x < low ? low - x : x - high, times = floor(over / span), rest = over - times * span;
  return (x < low) == (fmod(times, 2.0) == 0) ? low + rest : high - rest;
}

// Tap k: element i with weight w.
W_FN void w_tap(Taps* t, int k, s64 i, s64 n, double w) {
  const bool outside = i < 0 || i >= n;
  t->weight[k] = kPadding == 0 && outside ? 0 : w;
  if (outside) {
    if (kPadding == 2 && w != 0) i = (s64)w_reflect((double)i, kAlign ? 0.0 : -0.5, kAlign ? n - 1.0 : n - 0.5);
    i = i < 0 ? 0 : i >= n ? n - 1 : i;
  }
  t->at[k] = i;
}

// The weights of the outer and the inner two of four neighbours, at distance d.
W_FN double w_outer(double d) { return ((-0.75 * d - 5 * -0.75) * d + 8 * -0.75) * d - 4 * -0.75; }
W_FN double w_inner(double d) { return ((-0.75 + 2) * d - (-0.75 + 3)) * d * d + 1; }

W_FN Taps w_taps(double v, s64 extent) {
  Taps t = {};
  const double n = (double)extent;
  double x = kAlign ? (v + 1) / 2 * (n - 1) : ((v + 1) * n - 1) / 2;
  if (kMode == 0) x = rint(x);
  const double low = kAlign ? 0 : -0.5, high = kAlign ? n - 1 : n - 0.5;
  if (!(fabs(x) < 1e300)) return t;
  if (kPadding == 1 && (x < low || x > high)) x = x < 0 ? 0 : x > n - 1 ? n - 1 : x;
  if (kPadding == 2) x = w_reflect(x, low, high);
  if (!(fabs(x) < 1e15)) return t;
  const double base = floor(x), f = x - base;
  const s64 b = (s64)base;
  if constexpr (kMode == 0) {
    w_tap(&t, 0, (s64)rint(x), extent, 1);
  } else if constexpr (kMode == 1) {
    w_tap(&t, 0, b, extent, 1 - f);
    w_tap(&t, 1, b + 1, extent, f);
  } else {
    w_tap(&t, 0, b - 1, extent, w_outer(f + 1));
    w_tap(&t, 1, b, extent, w_inner(f));
    w_tap(&t, 2, b + 1, extent, w_inner(1 - f));
    w_tap(&t, 3, b + 2, extent, w_outer(2 - f));
  }
  return t;
}
