// Normalization of rows: by mean and variance, by the mean square, or to length 1; then scale and bias.
// The problem: that of common/rows.cuh and softmax/rows.cuh, without kLog; kCentered: the mean is subtracted;
// kToLength; kEpsilon; kParameters: 0, 1 (scale) or 2 (and bias), which are operands with an offset in Kept and in
// Element each; round_also(p, c, f, at, in) stores a result a second time, in another type, or nothing.
#pragma once
#include "backends/cuda/kernels/common/rows.cuh"

// A template, so that it may name operands that are not there.
template <class P, class K, class E>
W_FN A scaled(const P& p, const K& at, const E& in, A v) {
  if constexpr (kParameters == 1) return v * (A)w_get(p.scale[at.scale + in.scale]);
  if constexpr (kParameters == 2)
    return v * (A)w_get(p.scale[at.scale + in.scale]) + (A)w_get(p.bias[at.bias + in.bias]);
  return v;
}

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ A shared[kThreads];
  const Thread t = this_thread(c);
  const Kept at = kept(c, t.row);
  Elements elements;
  elements.read(p, c, at, t.number);

  A a = 0, mean = 0;
  if constexpr (kCentered) {
    elements.each(p, c, at, t.number, [&](int, A v) { a += v; });
    mean = over_row(a, shared, Sum()) / (A)c.length;
    a = 0;
  }
  elements.each(p, c, at, t.number, [&](int, A v) {
    const A d = v - mean;
    a += d * d;
  });
  a = over_row(a, shared, Sum());
  A factor;
  if constexpr (kToLength) {
    const A length = w_sqrt(a);
    factor = (A)1 / (length < (A)kEpsilon ? (A)kEpsilon : length);
  } else {
    factor = (A)1 / w_sqrt(a / (A)c.length + (A)kEpsilon);
  }

  if (!t.live) return;
  elements.each(p, c, at, t.number, [&](int r, A v) {
    const Element in = element(c, r);
    const A f = scaled(p, at, in, (v - mean) * factor);
    p.y[at.y + in.y] = epilogue(p, c, f, at, in);
    round_also(p, c, f, at, in);
  });
}
