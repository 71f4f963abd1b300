// Casts to powers of two: a thread a result. The problem: kThreads, kSaturate; kUp, kDown: where fractions go,
// otherwise to the nearer; Constants {count}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN bool rounds_up(u32 fraction, u32 exponent) {
  if (kUp) return fraction != 0;
  return !kDown && (fraction > 0x400000u || (fraction == 0x400000u && exponent > 0));
}

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const u32 bits = w_f2bits((float)(double)w_get(p.x0[i])), size = bits & 0x7fffffffu;
  u32 e = size >> 23;
  if (size > 0x7f800000u) {
    e = 255;
  } else if (size == 0x7f800000u) {
    e = kSaturate ? 254 : 255;
  } else if (!kSaturate && size == 0) {
    e = 255;
  } else {
    if (rounds_up(bits & 0x7fffffu, e)) ++e;
    if (kSaturate && e > 254) e = 254;
  }
  p.y0[i].x = (u8)e;
}
