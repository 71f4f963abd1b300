// Elements that lie together in bytes, to a byte each. The problem: kThreads, kBits; Constants {count: of bytes of x}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  constexpr int kEach = 8 / kBits;
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  Pack<u8, kEach> v;
#pragma unroll
  for (int k = 0; k < kEach; ++k) v.v[k] = w_low<kBits>((u32)p.x[i] >> (k * kBits));
  ((Pack<u8, kEach>*)p.y)[i] = v;
}
