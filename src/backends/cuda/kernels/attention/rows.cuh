// A block for one query row of one head, with the scores of the whole row in shared memory.
// The problem: that of attention/head.cuh; kThreads; kScores, kQuery: extents of shared memory for keys and a row.
#pragma once
#include "backends/cuda/kernels/attention/head.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ float score[kScores];
  __shared__ float query[kQuery];
  __shared__ float shared[kThreads];
  const int t = threadIdx.x;
  const int row = blockIdx.x % c.rows;
  const Head head = this_head(p, c, blockIdx.x / c.rows);
  const X* q = head.q + (s64)row * c.q_row;
  for (int d = t; d < kSize; d += kThreads)
    query[d] = w_get(q[(s64)d * c.q_column]) * ((float)kScale * key_scale(head.g, d));
  __syncthreads();

  float top = -W_INF;
  for (int j = t; j < c.keys; j += kThreads) {
    float s = 0;
    const Key* kp = head.k + (s64)j * c.k_row;
#pragma unroll 8
    for (int d = 0; d < kSize; ++d) s += query[d] * number(kp[(s64)d * c.k_column], kKeyZero);
    s = masked(p, c, capped(s), head.b, head.h, row, j);
    if (kCausal && j > row) s = -W_INF;
    score[j] = s;
    top = w_max<float>(top, s);
  }
  top = w_group<1, kThreads, true>(top, shared, Max());

  float sum = 0;
  for (int j = t; j < c.keys; j += kThreads) {
    const float e = top == -W_INF ? 0.0f : expf(score[j] - top);
    score[j] = e;
    sum += e;
  }
  sum = w_group<1, kThreads, true>(sum, shared, Sum());
  const bool none = c.keys == 0 || sees_nothing(sum);
  const float scale = 1.0f / sum;
  __syncthreads();

  for (int d = t; d < kValueSize; d += kThreads) {
    float a = 0;
    const Value* vp = head.v + (s64)d * c.v_column;
#pragma unroll 8
    for (int j = 0; j < c.keys; ++j) a += score[j] * number(vp[(s64)j * c.v_row], kValueZero);
    store(p, c, head, row, d, none ? 0.0f : a * scale * value_scale(head.g, d));
  }
}
