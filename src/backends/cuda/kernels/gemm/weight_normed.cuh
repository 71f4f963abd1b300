// Few rows of 16-bit floats that are normalized by every block for itself, while its first weights are on their way.
// That is less work than a step of its own takes to begin. The problem: that of gemm/weight_chunks.cuh; A, kRowThreads,
// kPacks, kVector, kCentered, kEpsilon, Values and Constants {length, packs} as in norm/kept.cuh; kEarly: scale and
// bias are constants, which may be read before the step ahead has ended;
//   Parameters parameters(p, pack)   packs of scale and bias, where there are any
//   A scaled(parameters, k, f)
#pragma once
#include "backends/cuda/kernels/gemm/weight_chunks.cuh"

struct Normed {
  Parameters given[kPacks];
  const Pack<X, kVector>* row;  // of this thread

  W_M void read_parameters(const Operands& p, const Constants& c) {
#pragma unroll
    for (int j = 0; j < kPacks; ++j)
      given[j] = parameters(p, within(threadIdx.x % kRowThreads + j * kRowThreads, c.packs));
  }
  W_M void before(const Operands& p, const Constants& c, int r0) {
    row = (const Pack<X, kVector>*)(p.x + (s64)within(r0 + (int)threadIdx.x / kRowThreads, c.rows) * c.depth);
    if constexpr (kEarly) read_parameters(p, c);
  }
  // A thread's packs of its row, 0 behind its end; and the parameters, unless they are there.
  W_M void read(const Operands& p, const Constants& c, Values (&v)[kPacks]) {
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      const int pack = threadIdx.x % kRowThreads + j * kRowThreads;
      v[j] = Values{};
      if (pack >= c.packs) continue;
      const Pack<X, kVector> x = row[pack];
#pragma unroll
      for (int k = 0; k < kVector; ++k) v[j].v[k] = (A)w_get(x.v[k]);
    }
    if constexpr (!kEarly) read_parameters(p, c);
  }
  // Scaled: keep(r, pack, x, in) for packs of row r from r0 on, `in` unless one is behind its end. All threads of a
  // warp call it at once, packs side by side for neighbours.
  template <class Keep>
  W_M void finish(const Constants& c, const Values (&v)[kPacks], const Keep& keep) const {
    const int thread = threadIdx.x % kRowThreads;
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      const int pack = thread + j * kRowThreads;
      if (w_leaves(pack - thread % 32 >= c.packs)) break;
      Pack<X, kVector> made;
#pragma unroll
      for (int k = 0; k < kVector; ++k) made.v[k] = Put<X>::to(scaled(given[j], k, v[j].v[k]));
      keep((int)threadIdx.x / kRowThreads, pack, made, pack < c.packs);
    }
  }
};
