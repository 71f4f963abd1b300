// Few rows of 16-bit floats, normalized, times weights of 4 bits on tensor cores: a block normalizes its rows into
// shared memory, while its first weights are on their way. That is less work than a step of its own takes to begin. The
// problem: those of norm/kept.cuh and gemm/weight_chunks.cuh; kDepth: of a sum, which is a row's length; kEarly: scale
// and bias are constants, which may be read before the step ahead has ended;
//   Parameters parameters(p, pack)   packs of scale and bias, where there are any
//   A scaled(parameters, k, f)
#pragma once
#include "backends/cuda/kernels/norm/kept.cuh"

#include "backends/cuda/kernels/gemm/weight_chunks.cuh"

constexpr int kPitch = kDepth / kVector + 1;  // in packs: rows in different banks of shared memory

struct NormedRows {
  static constexpr bool kShared = true, kFromFirst = false;
  static constexpr int kBytes = 0;
  Pack<X, kVector>* kept;
  Parameters given[kPacks];

  W_M void read(const Operands& p, const Constants& c) {
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      const int pack = threadIdx.x % kRowThreads + j * kRowThreads;
      given[j] = pack < c.packs ? parameters(p, pack) : Parameters{};
    }
  }
  W_M void before(const Operands& p, const Constants& c, const Place&) {
    if constexpr (kEarly) read(p, c);
  }
  // As the kernels of norms do, with the same bits.
  W_M const u8* after(const Operands& p, const Constants& c, const Place&, int r0) {
    const int thread = threadIdx.x % kRowThreads, own = threadIdx.x / kRowThreads;
    const Pack<X, kVector>* const row = (const Pack<X, kVector>*)(p.x + (s64)within(r0 + own, c.rows) * c.depth);
    Values v[kPacks];
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      const int pack = thread + j * kRowThreads;
      v[j] = Values{};
      if (pack >= c.packs) continue;
      const Pack<X, kVector> x = row[pack];
#pragma unroll
      for (int k = 0; k < kVector; ++k) v[j].v[k] = (A)w_get(x.v[k]);
    }
    if constexpr (!kEarly) read(p, c);
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
    return (const u8*)(kept + threadIdx.x % 32 / 4 % kRows * kPitch);
  }
};

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ Pack<X, kVector> kept[kRows * kPitch];
  multiply(p, c, NormedRows{kept});
}
