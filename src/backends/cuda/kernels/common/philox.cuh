// Random numbers by counting: those of base/philox.h, to the bit.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

struct Draw {
  double uniform, second;  // of [0, 1)
};

W_FN double w_unit(u32 low, u32 high) { return (double)(((u64)high << 32 | low) >> 11) * (1.0 / 9007199254740992.0); }

// What is drawn at a place: `state` holds the key and how often was drawn before.
W_FN Draw w_draw(const s64* state, s64 place) {
  u32 k0 = (u32)(u64)state[0], k1 = (u32)((u64)state[0] >> 32);
  u32 c0 = (u32)(u64)place, c1 = (u32)((u64)place >> 32), c2 = (u32)(u64)state[1], c3 = (u32)((u64)state[1] >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u64 a = (u64)0xd2511f53u * c0, b = (u64)0xcd9e8d57u * c2;
    c0 = (u32)(b >> 32) ^ c1 ^ k0;
    c1 = (u32)b;
    c2 = (u32)(a >> 32) ^ c3 ^ k1;
    c3 = (u32)a;
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return {w_unit(c0, c1), w_unit(c2, c3)};
}

W_FN double w_normal(const Draw& draw) {
  const double turned = w_cos(6.283185307179586 * draw.second);
  return w_sqrt(-2 * w_log(1 - draw.uniform)) * turned;
}
