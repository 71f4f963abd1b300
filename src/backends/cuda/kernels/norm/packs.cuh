// Normalization of rows whose elements are neighbours: by mean and variance, by the mean square, or to length 1; then
// scale and bias. A thread reads and writes kVector elements at once, all of its own before it needs the first.
// The problem: that of norm/kept.cuh; X; Constants {count: of rows};
//   Parameters parameters(p, pack)   packs of scale and bias, where there are any
//   A scaled(parameters, k, f)
//   void store(p, c, i, x)           the expression on pack i of the results, which are x.v
#pragma once
#include "backends/cuda/kernels/norm/kept.cuh"

W_FN Values read(const Operands& p, s64 i) {
  const Pack<X, kVector> x = *(const Pack<X, kVector>*)(p.x + i * kVector);
  Values v;
#pragma unroll
  for (int k = 0; k < kVector; ++k) v.v[k] = (A)w_get(x.v[k]);
  return v;
}

W_FN void kernel(const Operands& p, const Constants& c) {
  const int thread = threadIdx.x % kRowThreads;
  const s64 number = (s64)blockIdx.x * kRows + threadIdx.x / kRowThreads;
  const bool live = number < c.count;
  const s64 first = (live ? number : 0) * c.packs;  // or there is none, for the others to meet at barriers
  Values v[kPacks];
  Parameters given[kPacks];
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int pack = thread + j * kRowThreads;
    v[j] = live && pack < c.packs ? read(p, first + pack) : Values{};
  }
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int pack = thread + j * kRowThreads;
    given[j] = pack < c.packs ? parameters(p, pack) : Parameters{};
  }
  normalize(c, v);
  if (!live) return;
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int pack = thread + j * kRowThreads;
    if (pack >= c.packs) break;
#pragma unroll
    for (int k = 0; k < kVector; ++k) v[j].v[k] = scaled(given[j], k, v[j].v[k]);
    store(p, c, first + pack, v[j]);
  }
}
