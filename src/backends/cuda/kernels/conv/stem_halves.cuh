// What convolutions of few channels in 16 bits share (conv/stem.cuh, conv/stem_pool.cuh), by conv/stem_tiles.cuh: a sum
// goes over rows of the window, kSlots places each, of which the last may be outside of it and meet weights of zero.
// Neighbours in a row of the window are neighbours in memory: a thread reads two at once. The problem: W, of 16 bits;
// half_of(x): the bits of what the convolution reads of an X of the image; of a row of the window the first kShift
// places are before it; kLead: of the image, the patch of a tile begins so many pixels before its windows.
#pragma once
#include "backends/cuda/kernels/conv/stem_tiles.cuh"

constexpr int kGroups = kChannels * kKernelH;  // rows of the window
constexpr int kSteps = (kGroups * kSlots + 15) / 16;
constexpr int kOfRow = (kLead + (kWide - 1) * kStrideW + kSlots + 3) / 4 * 4 / kUnit;  // units of the patch's rows
constexpr int kInWide = kOfRow * kUnit, kPatchRows = kChannels * kInHigh;
constexpr int kWeightBytes = kSteps * kPairs * 512;
constexpr int kSharedBytes = kWeightBytes + (kPatchRows * kInWide * 2 + 15) / 16 * 16;

constexpr int kUnits = kPatchRows * kOfRow, kOwnUnits = (kUnits + kThreads - 1) / kThreads;  // of all, of a thread

// Where a row of the window begins in the patch; those behind the last have weights of zero and read the first.
W_FN constexpr int group_at(int group) {
  return group < kGroups ? (group / kKernelH * kInHigh + group % kKernelH) * kInWide : 0;
}

// A unit of any tile: its row and, in the lower half, column; its distance from the tile's first in the image.
struct UnitAt {
  int at, from;
  W_M int y() const { return at >> 16; }
  W_M int x() const { return at & 0xffff; }
};

W_FN void find_units(const Constants& c, UnitAt (&own)[kOwnUnits]) {
#pragma unroll
  for (int i = 0; i < kOwnUnits; ++i) {
    const int unit = threadIdx.x + i * kThreads, row = unit / kOfRow;
    own[i].at = row % kInHigh << 16 | unit % kOfRow * kUnit;
    own[i].from = (row / kInHigh * c.in_h + own[i].y()) * c.in_w + own[i].x();
  }
}

// What the windows of a tile cover; zeros outside of the image. All of it is on its way before the first is put down.
W_FN void load_patch(const X* x, const Constants& c, const TileAt& tile, const UnitAt (&own)[kOwnUnits], u16* patch) {
  const int top = tile.y() * kStrideH - c.pad_top, left = tile.x() * kStrideW - c.pad_left - kShift - kLead;
  const X* const image = x + ((tile.image * kChannels * c.in_h + top) * c.in_w + left);
  Unit units[kOwnUnits];
  bool in[kOwnUnits];
#pragma unroll
  for (int i = 0; i < kOwnUnits; ++i) {
    const UnitAt unit = {w_here(own[i].at), w_here(own[i].from)};
    in[i] = (u32)(top + unit.y()) < (u32)c.in_h && (u32)(left + unit.x()) < (u32)c.in_w;
    if ((i + 1) * kThreads > kUnits) in[i] = in[i] && threadIdx.x + i * kThreads < kUnits;
    if (in[i]) units[i] = *(const Unit*)(image + unit.from);
  }
#pragma unroll
  for (int i = 0; i < kOwnUnits; ++i) {
    Pack<u16, kUnit> halves = {};
    if (in[i])
#pragma unroll
      for (int k = 0; k < kUnit; ++k) halves.v[k] = half_of(units[i].v[k]);
    const int unit = threadIdx.x + i * kThreads;
    if ((i + 1) * kThreads <= kUnits || unit < kUnits) *(Pack<u16, kUnit>*)(patch + unit * kUnit) = halves;
  }
}

// Places `at` and `at` + 1 of the patch.
W_FN u32 two_of(const u16* patch, int at) {
  if constexpr (kStrideW % 2 == 0 && kLead % 2 == 0)
    return *(const u32*)(patch + at);
  else
    return (u32)patch[at] | (u32)patch[at + 1] << 16;
}

// The sums of a warp's row `part` of the tile.
W_FN void sum_up(const u16* patch, const u8* weights, int part, Sums& acc) {
  constexpr int kInStep = kSlots > 8 ? 8 : kSlots;  // places of a group in half a step
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const u16* const row = patch + (warp * kParts + part) * kStrideH * kInWide + g * kStrideW + kLead;
  const auto load = [&](int step, u32(&a)[4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int k = step * 16 + half * 8;
      const int at = kInStep == 8 ? group_at(k / kSlots) + k % kSlots + t * 2
                                  : (t < 2 ? group_at(k / 4) : group_at(k / 4 + 1)) + t % 2 * 2;
      a[half * 2] = two_of(row, at);
      a[half * 2 + 1] = two_of(row, at + 8 * kStrideW);
    }
  };
  w_group_products<W, kSteps, kColumns>(load, weights, acc);
}
