// A convolution of up to four channels in 8 bits on tensor cores (conv/stem_tiles.cuh). What the windows of a tile
// cover lies in shared memory as words, a pixel's channels each: a row of the window is kSlots of them, of which the
// last may be outside of it and meet weights of zero. A step of a sum is eight words. The problem: X: bytes, or what
// byte_of(x) makes one of; Byte: s8 or u8; kShift: of the image, the patch of a tile begins so many pixels before its
// windows; kOutside: the byte outside of the image.
#pragma once
#include "backends/cuda/kernels/conv/stem_tiles.cuh"

constexpr int kSteps = (kKernelH * kSlots + 7) / 8;
constexpr int kInWide = (kShift + (kWide - 1) * kStrideW + kSlots + 3) / 4 * 4;
constexpr int kWeightBytes = kSteps * kPairs * 512, kSharedBytes = kWeightBytes + kInHigh * kInWide * 4;

constexpr int kOfRow = kInWide / kUnit, kUnits = kInHigh * kOfRow;  // units of the patch
constexpr int kOwnUnits = (kUnits + kThreads - 1) / kThreads;       // that a thread fetches

// All of the patch is on its way before the first is put down.
W_FN void load_patch(const X* x, const Constants& c, const TileAt& tile, u32* patch) {
  const int top = tile.y() * kStrideH - c.pad_top, left = tile.x() * kStrideW - c.pad_left - kShift;
  const X* const image = x + tile.image * kChannels * c.in_h * c.in_w;
  Unit units[kOwnUnits][kChannels];
  bool in[kOwnUnits];
#pragma unroll
  for (int i = 0; i < kOwnUnits; ++i) {
    const int unit = threadIdx.x + i * kThreads, iy = top + unit / kOfRow, ix = left + unit % kOfRow * kUnit;
    in[i] = unit < kUnits && (u32)iy < (u32)c.in_h && (u32)ix < (u32)c.in_w;
#pragma unroll
    for (int channel = 0; channel < kChannels; ++channel)
      if (in[i]) units[i][channel] = *(const Unit*)(image + (channel * c.in_h + iy) * c.in_w + ix);
  }
#pragma unroll
  for (int i = 0; i < kOwnUnits; ++i) {
    const int unit = threadIdx.x + i * kThreads;
    Pack<u32, kUnit> pixels;
#pragma unroll
    for (int k = 0; k < kUnit; ++k) {
      pixels.v[k] = (u32)kOutside * 0x01010101u;
      if (!in[i]) continue;
      pixels.v[k] = 0;
#pragma unroll
      for (int channel = 0; channel < kChannels; ++channel)
        pixels.v[k] |= byte_of(units[i][channel].v[k]) << channel * 8;
    }
    if (unit < kUnits) *(Pack<u32, kUnit>*)(patch + unit * kUnit) = pixels;
  }
}

// Where half a step begins in the patch; rows behind the window's last have weights of zero and read the first.
W_FN constexpr int place_of(int half) {
  const int row = half * 4 / kSlots;
  return row < kKernelH ? row * kInWide + half * 4 % kSlots : 0;
}

// Sums of a warp's rows of the tile.
W_FN void sum_up(const u32* patch, const u8* weights, Sums (&acc)[kParts]) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const u32* const own = patch + warp * kParts * kStrideH * kInWide + lane / 4 * kStrideW + kShift + lane % 4;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    Pack<u32, 4> b[kPairs];
#pragma unroll
    for (int n = 0; n < kPairs; ++n)
      w_matrices(&b[n], weights + (step * kPairs + n) * 512, 0, [](int row) { return row * 16; });
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      u32 a[4];
#pragma unroll
      for (int e = 0; e < 4; ++e)
        a[e] = own[part * kStrideH * kInWide + e % 2 * 8 * kStrideW + place_of(step * 2 + e / 2)];
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n)
        w_mma<Byte>(acc[part][n], a[0], a[1], a[2], a[3], b[n / 2].v[n % 2 * 2], b[n / 2].v[n % 2 * 2 + 1]);
    }
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  u32* const patch = (u32*)(memory + kWeightBytes);
  const float* const scales = (const float*)((const u8*)p.w + c.tables);
  each_tile<kWeightBytes>(
      p, c, memory, [&](const TileAt& tile) { load_patch(p.x, c, tile, patch); },
      [&](const TileAt& tile) {
        Sums acc[kParts];
#pragma unroll
        for (int part = 0; part < kParts; ++part)
#pragma unroll
          for (int n = 0; n < kColumns / 8; ++n)
            acc[part][n][0] = acc[part][n][1] = acc[part][n][2] = acc[part][n][3] = kSumsFrom;
        sum_up(patch, memory, acc);
        __syncthreads();
#pragma unroll
        for (int part = 0; part < kParts; ++part) store(p, c, tile, part, scales, acc[part]);
      });
}
