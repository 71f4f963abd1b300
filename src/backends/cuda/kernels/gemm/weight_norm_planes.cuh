// One or two rows of 16-bit floats, normalized, times weights of 4 bits by 8-bit integers on tensor cores. The problem:
// those of norm/moments.cuh, gemm/row_planes.cuh and gemm/weight_normed.cuh, with kVector 8.
#pragma once
#include "backends/cuda/kernels/norm/moments.cuh"

#include "backends/cuda/kernels/gemm/row_planes.cuh"
#include "backends/cuda/kernels/gemm/weight_normed.cuh"

struct NormedInPlanes : Normed {
  typedef Planes Products;
  static constexpr int kBytes = 0;

  // Warps without a pack of the row only meet the others.
  W_M const u8* after(const Operands& p, const Constants& c, const Place& at, int) {
    __shared__ Told told;
    const bool idle = w_leaves((int)threadIdx.x % kRowThreads / 32 * 32 >= c.packs);
    Values v[kPacks];
    Moments of_warp = {};
    if (!idle) {
      read(p, c, v);
      of_warp = sums_of_warp(moments_of(c, v, w_get(((const X*)row)[0])));
      tell(of_warp, told);
    }
    if constexpr (kRowWarps > 0) __syncthreads();
    if (!idle) {
      normalize_by(c, all_of_row(of_warp, told), v);
      finish(c, v, [&](int r, int pack, const Pack<X, kVector>& x, bool in) {
        Pack<u32, 4> words;
#pragma unroll
        for (int i = 0; i < 4; ++i) words.v[i] = (u32)x.v[i * 2].x | (u32)x.v[i * 2 + 1].x << 16;
        keep_planes(at, r, pack, words, in);
      });
    }
    __syncthreads();
    return own_plane(at);
  }
};

W_FN void kernel(const Operands& p, const Constants& c) { multiply(p, c, NormedInPlanes()); }
