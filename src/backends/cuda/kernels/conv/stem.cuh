// A convolution of few channels in 16 bits, as networks of images begin with, on tensor cores. The problem: as
// conv/stem_halves.cuh has it.
#pragma once
#include "backends/cuda/kernels/conv/stem_halves.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  u16* const patch = (u16*)(memory + kWeightBytes);
  UnitAt own[kOwnUnits];
  find_units(c, own);
  each_tile<kWeightBytes>(
      p, c, memory, [&](const TileAt& tile) { load_patch(p.x, c, tile, own, patch); },
      [&](const TileAt& tile) {
#pragma unroll 1  // one after the other: registers are what blocks of a multiprocessor are short of
        for (int part = 0; part < kParts; ++part) {
          Sums acc;
          sum_up(patch, memory, part, acc);
          if (part == kParts - 1) __syncthreads();
          store(p, c, tile, part, nullptr, acc);
        }
      });
}
