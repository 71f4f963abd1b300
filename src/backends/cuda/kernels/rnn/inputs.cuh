// The part of LSTM, GRU and RNN that no step waits for: part[d, n, t, g] = x[t, n] * w[d, g] + bias, a warp for each.
// The problem: X; kThreads; kBatchFirst; kBias; kGates: rows of w in a direction; Constants {values: of part; batch,
// steps, inputs}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ float shared[kThreads];
  const int lane = threadIdx.x % 32;
  const s64 i = (s64)blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  const bool live = i < c.values;
  s64 rest = live ? i : 0;
  const int g = (int)(rest % kGates);
  rest /= kGates;
  const s64 t = rest % c.steps;
  rest /= c.steps;
  const s64 n = rest % c.batch, d = rest / c.batch;
  const X* const x = p.x + (kBatchFirst ? n * c.steps + t : t * c.batch + n) * c.inputs;
  const X* const w = p.w + (d * kGates + g) * c.inputs;
  float a = 0;
  for (int k = lane; k < c.inputs; k += 32) a += w_get(x[k]) * w_get(w[k]);
  a = w_group<kThreads / 32, 32, true>(a, shared, Sum());
  if (!live || lane != 0) return;
  if constexpr (kBias) a += w_get(p.bias[d * (2 * kGates) + g]);
  p.part[i] = a;
}
