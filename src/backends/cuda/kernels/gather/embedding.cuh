// Embeddings: rows of tables by indices, added up and normalized. The threads of a row are neighbours, each of which
// keeps kPacks packs of kVector of its elements in registers. An index outside of its table reads as zeros.
// The problem: A: type of sums; kRows, kRowThreads: rows of a block, threads of a row; kPacks; kVector; kTables;
// kCentered: the mean is subtracted; kEpsilon; Constants {count: of rows; length: of a row; packs: of a row};
//   s64 index(p, t, row), extent(c, t)       of table t: what is picked of how many rows
//   Values sum(p, c, begin, i, pack)         A v[kVector]: pack i of the result, which is `pack` of a row, before it is
//                                            normalized; row `begin[t]`, in packs, of table t, or zeros where it is -1
//   Parameters parameters(p, pack)           packs of scale and bias, where there are any
//   A scaled(parameters, k, f)
//   Pack<Y, kVector> results(p, c, i, x)     the expression on pack i of the results, which are x.v
#pragma once
#include "backends/cuda/kernels/common/indices.cuh"

constexpr int kThreads = kRows * kRowThreads;

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ A shared[kThreads];
  const int thread = threadIdx.x % kRowThreads;
  const s64 number = (s64)blockIdx.x * kRows + threadIdx.x / kRowThreads;
  const bool live = number < c.count;
  const s64 row = live ? number : 0;  // or there is none: the first one, for the others to meet at barriers
  s64 begin[kTables];
#pragma unroll
  for (int t = 0; t < kTables; ++t) {
    const Index picked = index_along(index(p, t, row), extent(c, t));
    begin[t] = picked.inside ? picked.at * c.packs : -1;
  }
  Values v[kPacks];
  Parameters given[kPacks];
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int pack = thread + j * kRowThreads;
    v[j] = pack < c.packs ? sum(p, c, begin, row * c.packs + pack, pack) : Values{};
    given[j] = pack < c.packs ? parameters(p, pack) : Parameters{};
  }
  A a = 0, mean = 0;
  if constexpr (kCentered) {
#pragma unroll
    for (int j = 0; j < kPacks; ++j)
#pragma unroll
      for (int k = 0; k < kVector; ++k) a += v[j].v[k];
    mean = w_group<kRows, kRowThreads, true>(a, shared, Sum()) / (A)c.length;
    a = 0;
  }
#pragma unroll
  for (int j = 0; j < kPacks; ++j)
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const A d = thread + j * kRowThreads < c.packs ? v[j].v[k] - mean : (A)0;
      a += d * d;
    }
  a = w_group<kRows, kRowThreads, true>(a, shared, Sum());
  const A factor = (A)1 / w_sqrt(a / (A)c.length + (A)kEpsilon);
  if (!live) return;
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int pack = thread + j * kRowThreads;
    if (pack >= c.packs) break;
#pragma unroll
    for (int k = 0; k < kVector; ++k) v[j].v[k] = scaled(given[j], k, (v[j].v[k] - mean) * factor);
    const s64 i = row * c.packs + pack;
    *(Pack<Y, kVector>*)(p.y + i * kVector) = results(p, c, i, v[j]);
  }
}
