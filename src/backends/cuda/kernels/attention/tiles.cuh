// A block takes kRows query rows of one head over tiles of kKeys keys, and keeps for each row the largest score so far,
// the sum of exponentials relative to it and the weighted values. Scores of a whole row never exist at once. kLanes
// threads share a row.
// The problem: that of attention/head.cuh; kThreads, kRows, kLanes, kKeys; Constants {row_blocks: of a head}.
#pragma once
#include "backends/cuda/kernels/attention/head.cuh"

constexpr int kEach = kKeys / kLanes;                         // keys of a thread
constexpr int kColumns = (kValueSize + kLanes - 1) / kLanes;  // values of a thread
constexpr int kKeyTile = kKeys * (kSize + 1), kValueTile = kKeys * kValueSize;

// Rows from `base` on as floats to shared memory, PITCH apart; zeros behind the last key.
template <int WIDTH, int PITCH, class T>
W_FN void load_tile(const T* x, const Constants& c, int base, s64 row, s64 column, double zero, float* to) {
  for (int i = threadIdx.x; i < kKeys * WIDTH; i += kThreads) {
    const int j = i / WIDTH, d = i % WIDTH;
    to[j * PITCH + d] = base + j < c.keys ? number(x[(s64)(base + j) * row + d * column], zero) : 0.0f;
  }
}

// Scores of a thread's keys from `base` on; gives the largest.
W_FN float score_keys(const Operands& p, const Constants& c, const Head& head, int row, int base, const float* query,
                      const float* keys, float (&s)[kEach]) {
  const int lane = threadIdx.x % kLanes;
#pragma unroll 8
  for (int d = 0; d < kSize; ++d) {
    const float x = query[d];
#pragma unroll
    for (int i = 0; i < kEach; ++i) s[i] += x * keys[(lane + kLanes * i) * (kSize + 1) + d];
  }
  float most = -W_INF;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int j = base + lane + kLanes * i;
    if (j >= c.keys || row >= c.rows || (kCausal && j > row)) {
      s[i] = -W_INF;
      continue;
    }
    s[i] = masked(p, c, capped(s[i]), head.b, head.h, row, j);
    most = w_max<float>(most, s[i]);
  }
  return most;
}

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ float qs[kRows * kSize];
  __shared__ float ks[kKeyTile > kValueTile ? kKeyTile : kValueTile];
  __shared__ float ps[kRows * (kKeys + 1)];
  const int t = threadIdx.x, r = t / kLanes, lane = t % kLanes;
  const int first = (int)(blockIdx.x % (u32)c.row_blocks) * kRows, row = first + r;
  const Head head = this_head(p, c, blockIdx.x / (u32)c.row_blocks);
  for (int i = t; i < kRows * kSize; i += kThreads) {
    const int n = first + i / kSize;
    const float scale = (float)kScale * key_scale(head.g, i % kSize);
    qs[i] = n < c.rows ? w_get(head.q[(s64)n * c.q_row + (s64)(i % kSize) * c.q_column]) * scale : 0.0f;
  }
  float top = -W_INF, sum = 0, acc[kColumns];
#pragma unroll
  for (int i = 0; i < kColumns; ++i) acc[i] = 0;

  for (int base = 0; base < c.keys; base += kKeys) {
    __syncthreads();
    load_tile<kSize, kSize + 1>(head.k, c, base, c.k_row, c.k_column, kKeyZero, ks);
    __syncthreads();
    float s[kEach] = {};
    float most = score_keys(p, c, head, row, base, qs + r * kSize, ks, s);
    for (int m = kLanes / 2; m > 0; m /= 2) most = w_max<float>(most, __shfl_xor_sync(0xffffffffu, most, m));
    const float now = w_max<float>(top, most), keep = top == -W_INF ? 0.0f : expf(top - now);
    float part = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const float e = now == -W_INF ? 0.0f : expf(s[i] - now);
      ps[r * (kKeys + 1) + lane + kLanes * i] = e;
      part += e;
    }
    for (int m = kLanes / 2; m > 0; m /= 2) part += __shfl_xor_sync(0xffffffffu, part, m);
    sum = sum * keep + part;
    top = now;
#pragma unroll
    for (int i = 0; i < kColumns; ++i) acc[i] *= keep;
    __syncthreads();
    load_tile<kValueSize, kValueSize>(head.v, c, base, c.v_row, c.v_column, kValueZero, ks);
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < kKeys; ++j) {
      const float e = ps[r * (kKeys + 1) + j];
#pragma unroll
      for (int i = 0; i < kColumns; ++i)
        if (kValueSize % kLanes == 0 || lane + kLanes * i < kValueSize)
          acc[i] += e * ks[j * kValueSize + lane + kLanes * i];
    }
  }
  if (row >= c.rows) return;
  const bool none = c.keys == 0 || sees_nothing(sum);
  const float scale = 1.0f / sum;
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    const int d = lane + kLanes * i;
    if (d < kValueSize) store(p, c, head, row, d, none ? 0.0f : acc[i] * scale * value_scale(head.g, d));
  }
}
