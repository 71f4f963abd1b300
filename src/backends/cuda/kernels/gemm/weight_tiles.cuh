// Few rows of 16-bit floats times weights of 4 bits, on tensor cores: rows as they are, of which each warp copies its
// chunks to shared memory where they fit (kRowsShared). The problem: that of gemm/weight_chunks.cuh.
#pragma once
#include "backends/cuda/kernels/gemm/weight_chunks.cuh"

struct PlainRows {
  static constexpr bool kShared = kRowsShared, kFromFirst = kRowsShared;
  static constexpr int kPitch = kEach * kChunk * 2 + kPiece;  // rows in different banks
  static constexpr int kBytes = kShared ? kRows * kPitch : 0;

  W_M void before(const Operands&, const Constants&, const Place&) const {}
  W_M const u8* after(const Operands& p, const Constants& c, const Place& at, int r0) const {
    const int lane = threadIdx.x % 32, g = lane / 4 % kRows;
    if constexpr (!kShared) return (const u8*)(p.x + (s64)within(r0 + g, c.rows) * c.depth);
    constexpr int kPieces = kEach * kChunk * 2 / kPiece, kCopies = (kRows * kPieces + 31) / 32;
    Pack<u32, 4> x[kCopies];
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int own = i * 32 + lane, r = own / kPieces, piece = own % kPieces;
      const int k = at.first * kChunk + piece * (kPiece / 2);
      x[i] = Pack<u32, 4>{};
      if (r < kRows && (kEven || k < c.depth))
        x[i] = *(const Pack<u32, 4>*)(p.x + (s64)within(r0 + r, c.rows) * c.depth + k);
    }
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int own = i * 32 + lane, r = own / kPieces;
      if (r < kRows) *(Pack<u32, 4>*)(at.rows + r * kPitch + own % kPieces * kPiece) = x[i];
    }
    w_meet<32, kWarps>((int)threadIdx.x / 32);
    return at.rows + g * kPitch;
  }
};

W_FN void kernel(const Operands& p, const Constants& c) { multiply(p, c, PlainRows()); }
