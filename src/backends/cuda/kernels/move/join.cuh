// The way back from move/spread.cuh. The problem: kThreads, kBits; Constants {count: of bytes of y; elements}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  constexpr int kEach = 8 / kBits;
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  u32 z = 0;
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    if (i * kEach + k < c.elements) z |= w_low<kBits>((u32)p.x[i * kEach + k]) << (k * kBits);
  p.y[i] = (u8)z;
}
