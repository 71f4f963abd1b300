// ReverseSequence: a thread a result; a length beyond the axis reverses the whole of it.
// The problem: kThreads; kTimeFirst: steps are axis 0, sequences axis 1; Constants {count; inner: elements behind both;
// second: extent of axis 1; steps}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 inside = i % c.inner, rest = i / c.inner, at1 = rest % c.second, at0 = rest / c.second;
  const s64 t = kTimeFirst ? at0 : at1, length = (s64)w_get(p.x1[kTimeFirst ? at1 : at0]);
  const s64 end = length > c.steps ? c.steps : length, from = t < end ? end - 1 - t : t;
  p.y0[i] = p.x0[((kTimeFirst ? from : at0) * c.second + (kTimeFirst ? at1 : from)) * c.inner + inside];
}
