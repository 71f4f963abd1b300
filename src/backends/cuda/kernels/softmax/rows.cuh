// Softmax, or its logarithm, of rows.
// The problem: that of common/rows.cuh; kLog;
//   Element element(c, r)              where element r of a row is in each operand, from the row's beginning
//   epilogue(p, c, f, at, in)          the expression behind it, on the result for that element
#pragma once
#include "backends/cuda/kernels/softmax/store.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ A shared[kThreads];
  const Thread t = this_thread(c);
  const Kept at = kept(c, t.row);
  Elements elements;
  elements.read(p, c, at, t.number);

  A a = -(A)W_INF;
  elements.each(p, c, at, t.number, [&](int, A v) { a = w_max<A>(a, v); });
  const A top = over_row(a, shared, Max());
  a = 0;
  elements.each(p, c, at, t.number, [&](int, A v) { a = a + w_exp(v - top); });
  const A total = over_row(a, shared, Sum());
  store(p, c, t, at, elements, top, total);
}
