// A convolution of few channels, as networks begin with, on tensor cores: rows of pixels in, channels innermost out. A
// block takes one tile of 16 results by kWarps * kParts rows after the other: what its windows cover lies in shared
// memory once, and a sum goes over rows of the window, kSlots places each, of which the last may be outside of it and
// meet weights of zero. Neighbours in a row of the window are neighbours in memory: a thread reads two at once. Weights
// are there before the kernel ahead has ended. A thread's sums are eight neighbours of a pixel, since columns lie in
// that order. The problem: X, W, Y; kThreads, kWarps, kParts; kColumns: of a block's results; kChannels, kKernelH,
// kKernelW: of the window; kSlots, of which the first kShift are before it; kStrideH, kStrideW; kUnit: neighbours of a
// row that lie in steps of so many from there on; w: for each kColumns of the columns kSteps sixteenths of the sum, in
// each, for two times eight columns at a time, the 16 bytes of each lane; Constants {columns, in_h, in_w, out_h, out_w,
// pad_top, pad_left, tiles_w, tiles_h: of an image, tiles: of all}; at() and results() as of gemm/tile.cuh, with
// kVector of 8.
#pragma once
#include "backends/cuda/kernels/gemm/mma.cuh"

constexpr int kWide = 16, kHigh = kWarps * kParts;  // results of a tile
constexpr int kGroups = kChannels * kKernelH;       // rows of the window
constexpr int kSteps = (kGroups * kSlots + 15) / 16, kPairs = kColumns / 16;
constexpr int kInHigh = (kHigh - 1) * kStrideH + kKernelH;  // pixels that they cover
constexpr int kInWide = ((kWide - 1) * kStrideW + kSlots + 1) / 2 * 2;
constexpr int kPatch = kChannels * kInHigh * kInWide;
constexpr int kWeightBytes = kSteps * kPairs * 512, kSharedBytes = kWeightBytes + (kPatch * 2 + 15) / 16 * 16;

constexpr int kOwnRows = (kChannels * kInHigh + kWarps - 1) / kWarps, kUnits = (kInWide / kUnit + 31) / 32;

typedef float Sums[kColumns / 8][4];

// Where a row of the window begins in the patch; those behind the last have weights of zero and read the first.
W_FN constexpr int group_at(int group) {
  return group < kGroups ? (group / kKernelH * kInHigh + group % kKernelH) * kInWide : 0;
}

struct TileAt {
  int image, y, x;
};

W_FN TileAt tile_at(const Constants& c, int tile) {
  const int column = tile % c.tiles_w, rest = tile / c.tiles_w;
  return {rest / c.tiles_h, rest % c.tiles_h * kHigh, column * kWide};
}

typedef Pack<X, kUnit> Unit;

// What the windows of a tile cover, a row by each warp; zeros outside of the image. All of it is on its way before the
// first is put down.
W_FN void load_patch(const X* x, const Constants& c, const TileAt& tile, u16* patch) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int top = tile.y * kStrideH - c.pad_top, left = tile.x * kStrideW - c.pad_left - kShift;
  const X* const image = x + (s64)tile.image * kChannels * c.in_h * c.in_w;
  Unit units[kOwnRows][kUnits] = {};
#pragma unroll
  for (int i = 0; i < kOwnRows; ++i) {
    const int row = warp + i * kWarps, channel = row / kInHigh, iy = top + row % kInHigh;
    const bool in = row < kChannels * kInHigh && (u32)iy < (u32)c.in_h;
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const int ix = left + (lane + u * 32) * kUnit;
      if (in && (u32)ix < (u32)c.in_w) units[i][u] = *(const Unit*)(image + (channel * c.in_h + iy) * c.in_w + ix);
    }
  }
#pragma unroll
  for (int i = 0; i < kOwnRows; ++i)
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const int row = warp + i * kWarps, column = (lane + u * 32) * kUnit;
      if (row < kChannels * kInHigh && column < kInWide) *(Unit*)(patch + row * kInWide + column) = units[i][u];
    }
}

// Places `at` and `at` + 1 of the patch.
W_FN u32 two_of(const u16* patch, int at) {
  if constexpr (kStrideW % 2 == 0)
    return *(const u32*)(patch + at);
  else
    return (u32)patch[at] | (u32)patch[at + 1] << 16;
}

// Sums of a warp's rows of the tile.
W_FN void sum_up(const u16* patch, const u8* weights, Sums (&acc)[kParts]) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  constexpr int kInStep = kSlots > 8 ? 8 : kSlots;  // places of a group in half a step
  const int own = warp * kParts * kStrideH * kInWide + g * kStrideW;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    Pack<u32, 4> b[kPairs];
#pragma unroll
    for (int n = 0; n < kPairs; ++n) b[n] = *(const Pack<u32, 4>*)(weights + ((step * kPairs + n) * 32 + lane) * 16);
    int at[2];  // of the step's halves
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int k = step * 16 + half * 8;
      at[half] = kInStep == 8 ? group_at(k / kSlots) + k % kSlots + t * 2
                              : (t < 2 ? group_at(k / 4) : group_at(k / 4 + 1)) + t % 2 * 2;
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const int row = own + part * kStrideH * kInWide;
      u32 a[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) a[e] = two_of(patch, row + e % 2 * 8 * kStrideW + at[e / 2]);
#pragma unroll
      for (int n = 0; n < kPairs; ++n) {
        w_mma<X>(acc[part][n * 2], a[0], a[1], a[2], a[3], b[n].v[0], b[n].v[1]);
        w_mma<X>(acc[part][n * 2 + 1], a[0], a[1], a[2], a[3], b[n].v[2], b[n].v[3]);
      }
    }
  }
}

W_FN void store(const Operands& p, const Constants& c, const TileAt& tile, int n0, const Sums (&acc)[kParts]) {
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
        const int n = n0 + m * 32 + t * 8;
        float a[8];
#pragma unroll
        for (int v = 0; v < 8; ++v) a[v] = acc[part][m * 4 + v / 2][half * 2 + v % 2];
        const Pack<Y, 8> z = results(p, c, a, operands, n < c.columns ? n : c.columns - 8, nullptr);
        if (in && n < c.columns) *(Pack<Y, 8>*)(p.y + row * c.columns + n) = z;
      }
    }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  u16* const patch = (u16*)(memory + kWeightBytes);
  const u8* const weights = (const u8*)p.w + (s64)blockIdx.y * kWeightBytes;
  for (int i = threadIdx.x; i < kWeightBytes / 16; i += kThreads) w_copy16(memory + i * 16, weights + i * 16, true);
  w_commit();
  w_begin();
#pragma unroll 1
  for (int i = blockIdx.x; i < c.tiles; i += c.blocks) {
    const TileAt tile = tile_at(c, i);
    load_patch(p.x, c, tile, patch);
    w_wait<0>();
    __syncthreads();
    Sums acc[kParts] = {};
    sum_up(patch, memory, acc);
    __syncthreads();
    store(p, c, tile, blockIdx.y * kColumns, acc);
  }
}
