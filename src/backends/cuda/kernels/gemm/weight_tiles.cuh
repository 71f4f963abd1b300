// Few rows of 16-bit floats times weights of 4 bits, on tensor cores: rows as they are, of which each warp copies its
// chunks to shared memory where they fit (kRowsShared). The problem: that of gemm/weight_chunks.cuh.
#pragma once
#include "backends/cuda/kernels/gemm/weight_halves.cuh"
#include "backends/cuda/kernels/gemm/weight_rows.cuh"

struct PlainRows {
  typedef Halves Products;
  static constexpr bool kShared = kRowsShared, kFromFirst = kRowsShared;
  static constexpr int kPitch = kEach * kChunk * 2 + kPiece;  // rows in different banks
  static constexpr int kBytes = kShared ? kRows * kPitch : 0;

  W_M void before(const Operands&, const Constants&, int) const {}
  W_M const u8* after(const Operands& p, const Constants& c, const Place& at, int r0) const {
    const int g = threadIdx.x % 32 / 4 % kRows;
    if constexpr (!kShared) return (const u8*)(p.x + (s64)within(r0 + g, c.rows) * c.depth);
    copy_rows(p, c, at, r0, [&](int r, int piece, const Pack<u32, 4>& x) {
      if (r < kRows) *(Pack<u32, 4>*)(at.rows + r * kPitch + piece * kPiece) = x;
    });
    return at.rows + g * kPitch;
  }
};

W_FN void kernel(const Operands& p, const Constants& c) { multiply(p, c, PlainRows()); }
