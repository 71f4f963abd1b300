// What convolutions of few channels on tensor cores share (conv/stem.cuh, conv/stem_bytes.cuh): rows of pixels in,
// channels innermost out. A block takes one tile of 16 results by kWarps * kParts rows after the other: what its
// windows cover lies in shared memory once. Weights are there before the kernel ahead has ended. A thread's sums are
// eight neighbours of a pixel, since columns lie in that order. The problem: Y; Part: of sums, int or float; kThreads,
// kWarps, kParts; kColumns: of a block's results; kChannels, kKernelH, kKernelW: of the window, a row of which has
// kSlots places in a sum; kStrideH, kStrideW; kUnit: neighbours of a row that lie in steps of so many from where a
// tile's patch begins; w: for each kColumns of the columns kSteps parts of the sum, 32 bytes each, in each, for two
// times eight columns at a time, the 16 bytes of each lane; Constants {columns, in_h, in_w, out_h, out_w, pad_top,
// pad_left, tiles_w, tiles_h: of an image, tiles: of all, blocks, tables: where what is behind the weights begins};
// at() and results() as of gemm/tile.cuh, with kVector of 8, and kScaled, kCorrected, kShort and kScale as there:
// scales and corrections are behind the weights.
#pragma once
#include "backends/cuda/kernels/gemm/mma.cuh"
#include "backends/cuda/kernels/gemm/rescale.cuh"

constexpr int kWide = 16, kHigh = kWarps * kParts;  // results of a tile
constexpr int kPairs = kColumns / 16;
constexpr int kInHigh = (kHigh - 1) * kStrideH + kKernelH;  // rows of pixels that they cover

typedef Part Sums[kColumns / 8][4];

struct TileAt {
  int image, y, x;
};

W_FN TileAt tile_at(const Constants& c, int tile) {
  const int column = tile % c.tiles_w, rest = tile / c.tiles_w;
  return {rest / c.tiles_h, rest % c.tiles_h * kHigh, column * kWide};
}

// A part of the sum's weights, in shared memory.
W_FN void load_weights(const u8* weights, int step, Pack<u32, 4> (&b)[kPairs]) {
#pragma unroll
  for (int n = 0; n < kPairs; ++n)
    b[n] = *(const Pack<u32, 4>*)(weights + ((step * kPairs + n) * 32 + threadIdx.x % 32) * 16);
}

// The products of 16 pixels' parts of the sum, and the weights'.
template <class X>
W_FN void multiply(const u32 (&a)[4], const Pack<u32, 4> (&b)[kPairs], Sums& acc) {
#pragma unroll
  for (int n = 0; n < kPairs; ++n) {
    w_mma<X>(acc[n * 2], a[0], a[1], a[2], a[3], b[n].v[0], b[n].v[1]);
    w_mma<X>(acc[n * 2 + 1], a[0], a[1], a[2], a[3], b[n].v[2], b[n].v[3]);
  }
}

// `scales`: of all columns.
W_FN void store(const Operands& p, const Constants& c, const TileAt& tile, int n0, const float* scales,
                const Sums (&acc)[kParts]) {
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int y = tile.y + warp * kParts + part, x = tile.x + g + half * 8;
      const bool in = y < c.out_h && x < c.out_w;
      const s64 row = in ? ((s64)tile.image * c.out_h + y) * c.out_w + x : 0;
      const auto operands = at(c, row);
#pragma unroll
      for (int m = 0; m < kColumns / 32; ++m) {
        const int n = n0 + m * 32 + t * 8, own = n < c.columns ? n : c.columns - 8;
        Pack<Part, 8> sums;
#pragma unroll
        for (int v = 0; v < 8; ++v) sums.v[v] = acc[part][m * 4 + v / 2][half * 2 + v % 2];
        float a[8];
        rescale(c, sums, scales, own, a);
        const Pack<Y, 8> z = results(p, c, a, operands, own, nullptr, ahead(p, c, operands, own));
        if (in && n < c.columns) *(Pack<Y, 8>*)(p.y + row * c.columns + n) = z;
      }
    }
}

// The block's tiles: load(tile) puts down what its windows cover, behind the kWeightBytes of weights in `memory`, and
// sum_up(sums) computes a thread's.
template <int kWeightBytes, class Load, class SumUp>
W_FN void each_tile(const Operands& p, const Constants& c, u8* memory, const Load& load, const SumUp& sum_up) {
  const u8* const weights = (const u8*)p.w + (s64)blockIdx.y * kWeightBytes;
  for (int i = threadIdx.x; i < kWeightBytes / 16; i += kThreads) w_copy16(memory + i * 16, weights + i * 16, true);
  w_commit();
  w_begin();
  const float* const scales = (const float*)((const u8*)p.w + c.tables);
#pragma unroll 1
  for (int i = blockIdx.x; i < c.tiles; i += c.blocks) {
    const TileAt tile = tile_at(c, i);
    load(tile);
    w_wait<0>();
    __syncthreads();
    Sums acc[kParts];
#pragma unroll
    for (int part = 0; part < kParts; ++part)
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n)
        acc[part][n][0] = acc[part][n][1] = acc[part][n][2] = acc[part][n][3] = (Part)kSumsFrom;
    sum_up(acc);
    __syncthreads();
    store(p, c, tile, blockIdx.y * kColumns, scales, acc);
  }
}
