// The order of places before they are sorted. The problem: kThreads; Constants {count}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i < c.count) p.order[i] = (int)i;
}
