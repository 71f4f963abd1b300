// Rows that are rounded to 8 bits by a scale of each: what they are is computed in registers, by an expression, after a
// normalization where there is one; then the row's largest value is known.
// The problem: that of norm/kept.cuh; kNormalizes; Constants {count: of rows};
//   Values given(p, c, i)            pack i of what is normalized, or of the rows
//   Parameters parameters(p, pack)   packs of scale and bias, where there are any
//   A scaled(parameters, k, f)
//   Values rows(p, c, i, x)          of normalized x: pack i of the rows, as they would be stored
//   float scale_of(most)             of a row's largest absolute value
//   void store(p, c, i, x, scale)    pack i of the results
//   void store_scale(p, row, scale)
#pragma once
#include "backends/cuda/kernels/norm/kept.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ float largest[kThreads];
  const int thread = threadIdx.x % kRowThreads;
  const s64 number = (s64)blockIdx.x * kRows + threadIdx.x / kRowThreads;
  const bool live = number < c.count;
  const s64 first = (live ? number : 0) * c.packs;  // or there is none, for the others to meet at barriers
  Values v[kPacks];
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int pack = thread + j * kRowThreads;
    v[j] = live && pack < c.packs ? given(p, c, first + pack) : Values{};
  }
  if constexpr (kNormalizes) {
    Parameters of[kPacks];
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      const int pack = thread + j * kRowThreads;
      of[j] = pack < c.packs ? parameters(p, pack) : Parameters{};
    }
    normalize(c, v);
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      const int pack = thread + j * kRowThreads;
#pragma unroll
      for (int k = 0; k < kVector; ++k) v[j].v[k] = scaled(of[j], k, v[j].v[k]);
      v[j] = live && pack < c.packs ? rows(p, c, first + pack, v[j]) : Values{};
    }
  }
  float most = 0;
#pragma unroll
  for (int j = 0; j < kPacks; ++j)
#pragma unroll
    for (int k = 0; k < kVector; ++k) most = w_max(most, fabsf(v[j].v[k]));
  most = w_group<kRows, kRowThreads, true>(most, largest, Max());
  if (!live) return;
  const float scale = scale_of(most);
  if (thread == 0) store_scale(p, number, scale);
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int pack = thread + j * kRowThreads;
    if (pack >= c.packs) break;
    store(p, c, first + pack, v[j], scale);
  }
}
