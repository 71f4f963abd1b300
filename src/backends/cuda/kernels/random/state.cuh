// RandomState: gives the state, and counts that it was drawn from. One thread. The problem: Operands {y0, state}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  if (threadIdx.x != 0) return;
  const s64 drawn = p.state[1];
  p.y0[0] = p.state[0];
  p.y0[1] = drawn;
  p.state[1] = drawn + 1;
}
