// Where GridSample reads an axis, and with what weights. Coordinates are in double, as in the reference: a point near
// the border of two elements goes to the same one.
// The problem: kMode: 0 nearest, 1 linear, 2 cubic; kPadding: 0 zeros, 1 the border, 2 its reflection; kAlign: -1 and 1
// are the centers of the first and last element, not their edges
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

struct Taps {
  int count;
  s64 at[4];
  double weight[4];
};

W_FN double w_reflect(double x, double low, double high) {
  const double span = high - low;
  if (span <= 0) return low;
  if (x >= low && x <= high) return x;
  const double over = x < low ? low - x : x - high, times = floor(over / span), rest = over - times * span;
  return (x < low) == (fmod(times, 2.0) == 0) ? low + rest : high - rest;
}

template <int PADDING, bool ALIGN>
W_FN void w_tap(Taps* t, s64 i, s64 n, double w) {
  if (w == 0) return;
  if (i < 0 || i >= n) {
    if (PADDING == 0) return;
    if (PADDING == 2) i = (s64)w_reflect((double)i, ALIGN ? 0.0 : -0.5, ALIGN ? n - 1.0 : n - 0.5);
    i = i < 0 ? 0 : i >= n ? n - 1 : i;
  }
  t->at[t->count] = i;
  t->weight[t->count++] = w;
}

// The weights of the outer and the inner two of four neighbours, at distance d.
W_FN double w_outer(double d) { return ((-0.75 * d - 5 * -0.75) * d + 8 * -0.75) * d - 4 * -0.75; }
W_FN double w_inner(double d) { return ((-0.75 + 2) * d - (-0.75 + 3)) * d * d + 1; }

template <int MODE, int PADDING, bool ALIGN>
W_FN Taps w_taps(double v, s64 extent) {
  Taps t;
  t.count = 0;
  const double n = (double)extent;
  double x = ALIGN ? (v + 1) / 2 * (n - 1) : ((v + 1) * n - 1) / 2;
  if (MODE == 0) x = rint(x);
  const double low = ALIGN ? 0 : -0.5, high = ALIGN ? n - 1 : n - 0.5;
  if (!(fabs(x) < 1e300)) return t;
  if (PADDING == 1 && (x < low || x > high)) x = x < 0 ? 0 : x > n - 1 ? n - 1 : x;
  if (PADDING == 2) x = w_reflect(x, low, high);
  if (!(fabs(x) < 1e15)) return t;
  const double base = floor(x), f = x - base;
  const s64 b = (s64)base;
  if (MODE == 0) {
    w_tap<PADDING, ALIGN>(&t, (s64)rint(x), extent, 1);
  } else if (MODE == 1) {
    w_tap<PADDING, ALIGN>(&t, b, extent, 1 - f);
    w_tap<PADDING, ALIGN>(&t, b + 1, extent, f);
  } else {
    w_tap<PADDING, ALIGN>(&t, b - 1, extent, w_outer(f + 1));
    w_tap<PADDING, ALIGN>(&t, b, extent, w_inner(f));
    w_tap<PADDING, ALIGN>(&t, b + 1, extent, w_inner(1 - f));
    w_tap<PADDING, ALIGN>(&t, b + 2, extent, w_outer(2 - f));
  }
  return t;
}
