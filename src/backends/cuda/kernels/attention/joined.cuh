// What attention/bytes.cuh has made of the parts of the keys, as results: a block for a row of a head. The problem:
// that of attention/head.cuh; kThreads; Operands parts; Constants {parts}.
#pragma once
#include "backends/cuda/kernels/attention/byte_values.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const int line = (int)blockIdx.x, row = line % c.rows, h = line / c.rows % c.heads, b = line / c.rows / c.heads;
  const int g = h / c.per_group;
  const float* const parts = p.parts + (s64)line * c.parts * (kValueSize + 4);
  w_begin();
  float top = -W_INF;
#pragma unroll 8
  for (int i = 0; i < c.parts; ++i) top = w_max<float>(top, parts[i * (kValueSize + 4) + kValueSize]);
  const Head head = {b, h, g, nullptr, nullptr, nullptr};
  for (int d = threadIdx.x; d < kValueSize; d += kThreads) {
    float sum = 0, f = 0;
#pragma unroll 8
    for (int i = 0; i < c.parts; ++i) {
      const float* const part = parts + i * (kValueSize + 4);
      // Of a part that sees nothing the sum is 0; or it is no number, and stays none.
      const float keep = top == -W_INF ? 1.0f : expf(part[kValueSize] - top);
      sum += part[kValueSize + 1] * keep;
      f += part[d] * keep;
    }
    const bool none = sees_nothing(sum);
    store(p, c, head, row, d, none ? 0.0f : value_of(f * (1.0f / sum), g, d));
  }
}
