// Few rows of 16-bit floats, normalized, times weights of 4 bits on tensor cores. The problem: those of norm/kept.cuh,
// gemm/weight_chunks.cuh and gemm/weight_normed.cuh; kDepth: of a sum, which is a row's length.
#pragma once
#include "backends/cuda/kernels/norm/kept.cuh"

#include "backends/cuda/kernels/gemm/weight_halves.cuh"
#include "backends/cuda/kernels/gemm/weight_normed.cuh"

constexpr int kPitch = kDepth / kVector + 1;  // in packs: rows in different banks of shared memory

struct NormedRows : Normed {
  typedef Halves Products;
  static constexpr bool kShared = true, kFromFirst = false;
  static constexpr int kBytes = 0;
  Pack<X, kVector>* kept;

  // As the kernels of norms do, with the same bits.
  W_M const u8* after(const Operands& p, const Constants& c, const Place&, int) {
    Values v[kPacks];
    read(p, c, v);
    normalize(c, v);
    finish(c, v, [&](int r, int pack, const Pack<X, kVector>& x, bool in) {
      if (in) kept[r * kPitch + pack] = x;
    });
    __syncthreads();
    return (const u8*)(kept + threadIdx.x % 32 / 4 % kRows * kPitch);
  }
};

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ Pack<X, kVector> kept[kRows * kPitch];
  NormedRows rows;
  rows.kept = kept;
  multiply(p, c, rows);
}
