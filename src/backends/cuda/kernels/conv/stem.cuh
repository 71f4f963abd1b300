// A convolution of few channels in 16 bits, as networks begin with, on tensor cores (conv/stem_tiles.cuh): a sum goes
// over rows of the window, kSlots places each, of which the last may be outside of it and meet weights of zero.
// Neighbours in a row of the window are neighbours in memory: a thread reads two at once. The problem: X, W; of a row
// of the window the first kShift places are before it.
#pragma once
#include "backends/cuda/kernels/conv/stem_tiles.cuh"

constexpr int kGroups = kChannels * kKernelH;  // rows of the window
constexpr int kSteps = (kGroups * kSlots + 15) / 16;
constexpr int kInWide = ((kWide - 1) * kStrideW + kSlots + 1) / 2 * 2;
constexpr int kPatch = kChannels * kInHigh * kInWide;
constexpr int kWeightBytes = kSteps * kPairs * 512, kSharedBytes = kWeightBytes + (kPatch * 2 + 15) / 16 * 16;

constexpr int kOwnRows = (kChannels * kInHigh + kWarps - 1) / kWarps, kUnits = (kInWide / kUnit + 31) / 32;

// Where a row of the window begins in the patch; those behind the last have weights of zero and read the first.
W_FN constexpr int group_at(int group) {
  return group < kGroups ? (group / kKernelH * kInHigh + group % kKernelH) * kInWide : 0;
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
    load_weights(weights, step, b);
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
      multiply<X>(a, b, acc[part]);
    }
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  u16* const patch = (u16*)(memory + kWeightBytes);
  each_tile<kWeightBytes>(
      p, c, memory, [&](const TileAt& tile) { load_patch(p.x, c, tile, patch); },
      [&](Sums(&acc)[kParts]) { sum_up(patch, memory, acc); });
}
