// Softmax, or its logarithm, of rows that are too long to be kept: the largest element and the sum in one reading. A
// thread's sum is in terms of the largest element that it has met, and changes terms when it meets a larger one.
// The problem: that of softmax/rows.cuh.
#pragma once
#include "backends/cuda/kernels/softmax/store.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ A shared[kThreads];
  const Thread t = this_thread(c);
  const Kept at = kept(c, t.row);
  Elements elements;
  elements.read(p, c, at, t.number);

  A largest = -(A)W_INF, sum = 0;
  elements.each(p, c, at, t.number, [&](int, A v) {
    if (v > largest) {
      sum = sum * w_exp(largest - v) + (A)1;
      largest = v;
    } else if (v != -(A)W_INF) {  // which adds nothing, and is no number in terms of itself
      sum += w_exp(v - largest);
    }
  });
  const A top = over_row(largest, shared, Max());
  const A total = over_row(sum * w_exp(largest - top), shared, Sum());
  store(p, c, t, at, elements, top, total);
}
