// Embeddings: rows of tables by indices, added up and normalized. An index outside of its table reads as zeros.
// The problem: that of norm/kept.cuh; kTables; Constants {count: of rows};
//   s64 index(p, t, row), extent(c, t)       of table t: what is picked of how many rows
//   Values sum(p, c, begin, i, pack)         pack i of the result, which is `pack` of a row, before it is
//                                            normalized; row `begin[t]`, in packs, of table t, or zeros where it is -1
//   Parameters parameters(p, pack)           packs of scale and bias, where there are any
//   A scaled(parameters, k, f)
//   Pack<Y, kVector> results(p, c, i, x)     the expression on pack i of the results, which are x.v
#pragma once
#include "backends/cuda/kernels/common/indices.cuh"
#include "backends/cuda/kernels/norm/kept.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
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
  normalize(c, v);
  if (!live) return;
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int pack = thread + j * kRowThreads;
    if (pack >= c.packs) break;
#pragma unroll
    for (int k = 0; k < kVector; ++k) v[j].v[k] = scaled(given[j], k, v[j].v[k]);
    const s64 i = row * c.packs + pack;
    *(Pack<Y, kVector>*)(p.y + i * kVector) = results(p, c, i, v[j]);
  }
}
