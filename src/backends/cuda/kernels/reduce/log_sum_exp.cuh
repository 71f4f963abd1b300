// The logarithm of the sum of exponentials of a row's elements. The problem: that of reduce/rows.cuh without a
// Reduction.
#pragma once
#include "backends/cuda/kernels/common/rows.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ A shared[kThreads];
  const Thread t = this_thread(c);
  const Kept at = kept(c, t.row);
  const Elements elements{};
  A a = -(A)W_INF;
  elements.each(p, c, at, t.number, [&](int, A v) { a = w_max<A>(a, v); });
  A top = over_row(a, shared, Max());
  if (top == (A)W_INF || top == -(A)W_INF) top = 0;
  a = 0;
  elements.each(p, c, at, t.number, [&](int, A v) { a = a + w_exp(v - top); });
  a = w_log(over_row(a, shared, Sum())) + top;
  if (t.live && t.number == 0) p.y[at.y] = epilogue(p, c, (R)a, at);
}
