// Rows of a few, as they are, in shared memory: each warp copies its own chunks of them, 16 bytes a thread.
#pragma once
#include "backends/cuda/kernels/gemm/weight_chunks.cuh"

// keep(r, piece, x) for row r from r0 on and its pieces from the warp's first chunk on. All threads of a warp call it
// at once, those with pieces side by side for neighbours; some perhaps for a row behind kRows.
template <class Keep>
W_FN void copy_rows(const Operands& p, const Constants& c, const Place& at, int r0, const Keep& keep) {
  constexpr int kPieces = kEach * kChunk * 2 / kPiece, kCopies = (kRows * kPieces + 31) / 32;
  const int lane = threadIdx.x % 32;
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
    const int own = i * 32 + lane;
    keep(own / kPieces, own % kPieces, x[i]);
  }
  w_meet<32, kWarps>((int)threadIdx.x / 32);
}
