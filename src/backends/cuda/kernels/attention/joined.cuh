// What kernels with attention/parts.cuh have made of the parts of the keys, as results: a block for a row of a head.
// Its groups of threads divide the parts, a thread four neighbours of them, so that everything is on its way at once;
// what they add up meets in shared memory, in their order. The problem: that of attention/byte_values.cuh; kThreads, a
// multiple of kValueSize / 4; Operands parts; Constants {parts}.
#pragma once
#include "backends/cuda/kernels/attention/byte_values.cuh"

constexpr int kLanes = kValueSize / 4, kGroups = kThreads / kLanes, kAtOnce = 4, kLine = kValueSize + 4;

// The sum of exponentials relative to the largest score, and of the weighted values.
struct Sums {
  float top, sum, f[4];
};

// A part's after others. Of a part that sees nothing the sum is 0; or it is no number, and stays none.
W_FN void add(Sums& to, float top, float sum, const Pack<float, 4>& f) {
  const float now = w_max<float>(to.top, top);
  const float keep = now == -W_INF ? 1.0f : expf(to.top - now), by = now == -W_INF ? 1.0f : expf(top - now);
  to.top = now;
  to.sum = to.sum * keep + sum * by;
#pragma unroll
  for (int e = 0; e < 4; ++e) to.f[e] = to.f[e] * keep + f.v[e] * by;
}

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ float tops[kGroups], sums[kGroups];
  __shared__ Pack<float, 4> made[kGroups][kLanes];
  const int line = (int)blockIdx.x, row = line % c.rows, h = line / c.rows % c.heads, b = line / c.rows / c.heads;
  const int lane = threadIdx.x % kLanes, group = threadIdx.x / kLanes;
  const float* const parts = p.parts + (s64)line * c.parts * kLine;
  w_begin();
  Sums own = {-W_INF, 0, {0, 0, 0, 0}};
  for (int from = group; from < c.parts; from += kAtOnce * kGroups) {
    Pack<float, 4> f[kAtOnce], top[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int part = from + i * kGroups;
      if (part >= c.parts) break;
      f[i] = *(const Pack<float, 4>*)(parts + part * kLine + lane * 4);
      top[i].v[0] = parts[part * kLine + kValueSize];
      top[i].v[1] = parts[part * kLine + kValueSize + 1];
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      if (from + i * kGroups < c.parts) add(own, top[i].v[0], top[i].v[1], f[i]);
  }
  if (lane == 0) {
    tops[group] = own.top;
    sums[group] = own.sum;
  }
  made[group][lane] = {{own.f[0], own.f[1], own.f[2], own.f[3]}};
  __syncthreads();
  const Head head = {b, h, h / c.per_group, nullptr, nullptr, nullptr};
  for (int d = threadIdx.x; d < kValueSize; d += kThreads) {
    float top = -W_INF, sum = 0, f = 0;
#pragma unroll
    for (int i = 0; i < kGroups; ++i) top = w_max<float>(top, tops[i]);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const float keep = top == -W_INF ? 1.0f : expf(tops[i] - top);
      sum += sums[i] * keep;
      f += made[i][d / 4].v[d % 4] * keep;
    }
    const bool none = sees_nothing(sum);
    store(p, c, head, row, d, none ? 0.0f : value_of(f * (1.0f / sum), head.g, d));
  }
}
