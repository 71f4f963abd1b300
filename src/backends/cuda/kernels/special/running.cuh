// What running sums and products share.
// The problem: A: type of sums; kProduct; kExclusive: without the element itself.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

constexpr int kStart = kProduct ? 1 : 0;

W_FN A joined(A a, A v) { return kProduct ? a * v : a + v; }

W_FN void run_over(const X0& x, Y0* y, A* a) {
  const A before = *a;
  *a = joined(*a, (A)w_get(x));
  *y = Put<Y0>::to((Reg<Y0>::t)(kExclusive ? before : *a));
}
