// A convolution of few channels in 16 bits and the largest of windows of its results, as ResNets begin with: results
// of the convolution go to shared memory, and no further. The problem: as conv/stem_halves.cuh has it; Y of 16 bits;
// kPool, kPoolStride: of the windows of the pooling; kLeast: the bits of the least Y; Constants {pool_h, pool_w: of its
// results}. A tile begins where windows do.
#pragma once
#include "backends/cuda/kernels/conv/stem_halves.cuh"

constexpr int kPoolHigh = kStepHigh / kPoolStride, kPoolWide = kStepWide / kPoolStride;  // windows of a tile
constexpr int kEights = kColumns / 8, kConvolved = (kSharedBytes + 15) / 16 * 16;
constexpr int kAllBytes = kConvolved + kHigh * kWide * kColumns * 2;

typedef Pack<u32, 4> Eight;

// Neighbours of every other pixel are in other banks.
W_FN int eight_at(int row, int x, int eight) { return (row * kWide + x) * kEights + (eight ^ x % 2 * (kEights / 2)); }

// The largest of a window's results; no number where one of them is none.
W_FN Eight largest(const Eight* convolved, int y, int x, int eight) {
  Eight z;
#pragma unroll
  for (int v = 0; v < 4; ++v) z.v[v] = (u32)kLeast << 16 | (u32)kLeast;
#pragma unroll
  for (int dy = 0; dy < kPool; ++dy)
#pragma unroll
    for (int dx = 0; dx < kPool; ++dx) {
      const Eight other = convolved[eight_at(y * kPoolStride + dy, x * kPoolStride + dx, eight)];
#pragma unroll
      for (int v = 0; v < 4; ++v) z.v[v] = w_largest<Y>(z.v[v], other.v[v]);
    }
  return z;
}

W_FN void pool(const Operands& p, const Constants& c, const TileAt& tile, const Eight* convolved) {
  constexpr int kAll = kPoolHigh * kPoolWide * kEights;
#pragma unroll 1
  for (int i = threadIdx.x; i < kAll; i += kThreads) {
    const int eight = i % kEights, x = i / kEights % kPoolWide, y = i / kEights / kPoolWide;
    const int row = tile.row * kPoolHigh + y, column = tile.column * kPoolWide + x,
              n = blockIdx.y * kColumns + eight * 8;
    if (row < c.pool_h && column < c.pool_w && n < c.columns)
      *(Eight*)(p.y + (((tile.image * c.pool_h + row) * c.pool_w + column) * c.columns + n)) =
          largest(convolved, y, x, eight);
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kAllBytes);
  u16* const patch = (u16*)(memory + kWeightBytes);
  Eight* const convolved = (Eight*)(memory + kConvolved);
  UnitAt own[kOwnUnits];
  find_units(c, own);
  each_tile<kWeightBytes>(
      p, c, memory, [&](const TileAt& tile) { load_patch(p.x, c, tile, own, patch); },
      [&](const TileAt& tile) {
#pragma unroll 1
        for (int part = 0; part < kParts; ++part) {
          Sums acc;
          sum_up(patch, memory, part, acc);
          each_result(p, c, tile, part, nullptr, acc, [&](int x, int n, bool in, const Pack<Y, 8>& z) {
            Eight bits = *(const Eight*)&z;
#pragma unroll
            for (int v = 0; v < 4; ++v)
              if (!in) bits.v[v] = (u32)kLeast << 16 | (u32)kLeast;
            convolved[eight_at(threadIdx.x / 32 * kParts + part, x, n / 8)] = bits;
          });
        }
        __syncthreads();
        pool(p, c, tile, convolved);
      });
}
