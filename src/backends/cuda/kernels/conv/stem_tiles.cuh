// What convolutions of few channels on tensor cores share (conv/stem.cuh, conv/stem_bytes.cuh): rows of pixels in,
// channels innermost out. A block takes one tile of 16 results by kWarps * kParts rows after the other: what its
// windows cover lies in shared memory once. Weights are there before the kernel ahead has ended. A thread's sums are
// eight neighbours of a pixel, since columns lie in that order. The problem: X, of the image; Y; Part: of sums, int or
// float; kThreads, kWarps, kParts; kColumns: of a block's results; kChannels, kKernelH: of the window, a row of which
// has kSlots places in a sum; kStrideH, kStrideW; kUnit: neighbours of a row of the image that are read at once; w: for
// each kColumns of the columns kSteps parts of the sum, 32 bytes each, in each, for eight columns at a time, 16 bytes
// of each, then their other 16; Constants {columns, in_h, in_w, out_h, out_w, pad_top, pad_left, tiles_w, tiles_h: of
// an image, tiles: of all, blocks, blocks_w, blocks_h, blocks_images: so many columns, rows and images of tiles are as
// many tiles as there are blocks, tables: where what is behind the weights begins}; at() and results() as of
// gemm/tile.cuh, with kVector of 8, and kScaled, kCorrected, kShort and kScale as there: scales and corrections are
// behind the weights. Images and results have less than 2^31 elements. A tile begins kStepHigh rows and kStepWide
// columns after its neighbour, the first of an image kBeforeH rows and kBeforeW columns before it.
#pragma once
#include "backends/cuda/kernels/gemm/group_mma.cuh"
#include "backends/cuda/kernels/gemm/rescale.cuh"

constexpr int kWide = 16, kHigh = kWarps * kParts;  // results of a tile
constexpr int kPairs = kColumns / 16;
constexpr int kInHigh = (kHigh - 1) * kStrideH + kKernelH;  // rows of pixels that they cover

typedef Part Sums[kColumns / 8][4];
typedef Pack<X, kUnit> Unit;

struct TileAt {
  int image, row, column;  // the last two in tiles
  W_M int y() const { return row * kStepHigh - kBeforeH; }
  W_M int x() const { return column * kStepWide - kBeforeW; }
};

W_FN TileAt tile_at(const Constants& c, int tile) {
  const int rest = tile / c.tiles_w;
  return {rest / c.tiles_h, rest % c.tiles_h, tile % c.tiles_w};
}

// As many tiles on as there are blocks, without a division.
W_FN void go_on(const Constants& c, TileAt* at) {
  at->column += c.blocks_w;
  const int rows = at->column >= c.tiles_w;
  at->column -= rows ? c.tiles_w : 0;
  at->row += c.blocks_h + rows;
  const int images = at->row >= c.tiles_h;
  at->row -= images ? c.tiles_h : 0;
  at->image += c.blocks_images + images;
}

// Results of a warp's row `part` of the tile, eight of a pixel at a time: take(x, n, in, z), pixel x of the row, from
// the block's column n on; `in`: they are in the image. `scales`: of all columns.
template <class Take>
W_FN void each_result(const Operands& p, const Constants& c, const TileAt& tile, int part, const float* scales,
                      const Sums& acc, const Take& take) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int y = tile.y() + threadIdx.x / 32 * kParts + part, n0 = blockIdx.y * kColumns;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int x = tile.x() + g + half * 8;
    const bool in = (u32)y < (u32)c.out_h && (u32)x < (u32)c.out_w;
    const int row = in ? (tile.image * c.out_h + y) * c.out_w + x : 0;
    const auto operands = at(c, row);
#pragma unroll
    for (int m = 0; m < kColumns / 32; ++m) {
      const int n = m * 32 + t * 8, own = n0 + n < c.columns ? n0 + n : c.columns - 8;
      Pack<Part, 8> sums;
#pragma unroll
      for (int v = 0; v < 8; ++v) sums.v[v] = acc[m * 4 + v / 2][half * 2 + v % 2];
      float a[8];
      rescale(c, sums, scales, own, a);
      take(g + half * 8, n, in, results(p, c, a, operands, own, nullptr, ahead(p, c, operands, own)));
    }
  }
}

// The same, stored.
W_FN void store(const Operands& p, const Constants& c, const TileAt& tile, int part, const float* scales,
                const Sums& acc) {
  const int row = (tile.image * c.out_h + tile.y() + threadIdx.x / 32 * kParts + part) * c.out_w + tile.x();
  each_result(p, c, tile, part, scales, acc, [&](int x, int n, bool in, const Pack<Y, 8>& z) {
    n += blockIdx.y * kColumns;
    if (in && n < c.columns) *(Pack<Y, 8>*)(p.y + ((row + x) * c.columns + n)) = z;
  });
}

// The block's tiles: load(tile) puts down what its windows cover, behind the kWeightBytes of weights in `memory`;
// finish(tile) computes and stores, with a barrier behind the last that it reads of these.
template <int kWeightBytes, class Load, class Finish>
W_FN void each_tile(const Operands& p, const Constants& c, u8* memory, const Load& load, const Finish& finish) {
  const u8* const weights = (const u8*)p.w + (s64)blockIdx.y * kWeightBytes;
  for (int i = threadIdx.x; i < kWeightBytes / 16; i += kThreads) w_copy16(memory + i * 16, weights + i * 16, true);
  w_commit();
  TileAt tile = tile_at(c, blockIdx.x);
  w_begin();
#pragma unroll 1
  for (int i = blockIdx.x; i < c.tiles; i += c.blocks, go_on(c, &tile)) {
    load(tile);
    if (i == blockIdx.x) {
      w_wait<0>();
      w_group_fence();
    }
    __syncthreads();
    finish(tile);
  }
}
