// Few rows of 16-bit floats, normalized, times weights of 4 bits on tensor cores: a block normalizes its rows into
// shared memory, while its first weights are on their way. That is less work than a step of its own takes to begin. The
// problem: those of norm/kept.cuh and gemm/weight_chunks.cuh; kDepth: of a sum, which is a row's length;
//   Parameters parameters(p, pack)   packs of scale and bias, where there are any
//   A scaled(parameters, k, f)
#pragma once
#include "backends/cuda/kernels/norm/kept.cuh"

#include "backends/cuda/kernels/gemm/weight_chunks.cuh"

constexpr int kPitch = kDepth / kVector + 1;  // in packs: rows in different banks of shared memory

// As the kernels of norms do, with the same bits.
W_FN void normalize_rows(const Operands& p, const Constants& c, int r0, Pack<X, kVector>* kept) {
  const int thread = threadIdx.x % kRowThreads, own = threadIdx.x / kRowThreads;
  const Pack<X, kVector>* const row = (const Pack<X, kVector>*)(p.x + (s64)within(r0 + own, c.rows) * c.depth);
  Values v[kPacks];
  Parameters given[kPacks];
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int pack = thread + j * kRowThreads;
    v[j] = Values{};
    given[j] = Parameters{};
    if (pack >= c.packs) continue;
    const Pack<X, kVector> x = row[pack];
    given[j] = parameters(p, pack);
#pragma unroll
    for (int k = 0; k < kVector; ++k) v[j].v[k] = (A)w_get(x.v[k]);
  }
  normalize(c, v);
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int pack = thread + j * kRowThreads;
    if (pack >= c.packs) break;
    Pack<X, kVector> made;
#pragma unroll
    for (int k = 0; k < kVector; ++k) made.v[k] = Put<X>::to(scaled(given[j], k, v[j].v[k]));
    kept[own * kPitch + pack] = made;
  }
  __syncthreads();
}

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ Pack<X, kVector> kept[kRows * kPitch];
  multiply(p, c, [&](int r0, int r) {
    normalize_rows(p, c, r0, kept);
    return (const X*)(kept + r * kPitch);
  });
}
