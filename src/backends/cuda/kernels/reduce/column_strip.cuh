// Columns of a matrix whose rows are reduced: a thread takes kVector neighbouring columns and some of the rows, a block
// kAcross such packs of columns.
// The problem: X; that of reduce/reductions.cuh; Reduction: one of them; kThreads, kVector, kAcross;
// Constants {length: rows; step: between them in x; shares: into which they are divided; most: rows of a share};
//   Base base(c, i)   where column i of all is in x
#pragma once
#include "backends/cuda/kernels/reduce/reductions.cuh"

constexpr int kWarps = kThreads / 32, kColumns = kAcross * kVector;

// A block's share of the rows, and its first column.
struct Strip {
  s64 share, first;
};

W_FN Strip this_strip(const Constants& c) {
  const u32 block = blockIdx.x;
  return {block % (u32)c.shares, (s64)(block / (u32)c.shares) * kColumns};
}

// What the thread's rows give for its columns, to `shared`, for each warp.
W_FN void reduce_rows(const X* x, const Constants& c, const Strip& strip, A* shared) {
  const int t = threadIdx.x, tx = t % kAcross, ty = t / kAcross;
  const X* xp = x + (s64)base(c, strip.first).x + tx * kVector;
  A a[kVector];
#pragma unroll
  for (int k = 0; k < kVector; ++k) a[k] = Reduction::start();
  const int end = (int)w_min<s64>((strip.share + 1) * c.most, c.length);
#pragma unroll 4
  for (int r = (int)strip.share * c.most + ty; r < end; r += kThreads / kAcross) {
    const Pack<X, kVector> v = *(const Pack<X, kVector>*)(xp + (s64)r * c.step);
#pragma unroll
    for (int k = 0; k < kVector; ++k) a[k] = Reduction::step(a[k], w_get(v.v[k]));
  }
  // Lanes of a warp with the same columns.
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
#pragma unroll
    for (int m = 16; m >= kAcross; m /= 2) a[k] = Reduction::Join()(a[k], __shfl_xor_sync(0xffffffffu, a[k], m));
    if (t % 32 < kAcross) shared[t / 32 * kColumns + tx * kVector + k] = a[k];
  }
}

// The warps' results for a column.
W_FN A join_warps(const A* shared, int column) {
  A s = shared[column];
#pragma unroll
  for (int i = 1; i < kWarps; ++i) s = Reduction::Join()(s, shared[i * kColumns + column]);
  return s;
}
