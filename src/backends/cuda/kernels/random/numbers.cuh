// Random: a thread a number. The problem: kThreads; kNormal, kBase, kScale: the distribution; Constants {count}.
#pragma once
#include "backends/cuda/kernels/common/philox.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const Draw draw = w_draw(p.x0, i);
  p.y0[i] = Put<Y0>::to((Reg<Y0>::t)(kBase + kScale * (kNormal ? w_normal(draw) : draw.uniform)));
}
