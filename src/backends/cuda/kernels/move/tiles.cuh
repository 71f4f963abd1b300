// A transposition: tiles go through shared memory, so that both sides are walked along their rows.
// The problem: T; kThreads, kTile; Constants {width, height: of the result, along its own rows and the source's;
// columns, rows: of tiles; from, to: where the matrices begin; from_stride, to_stride: between the rows of either
// side};
//   Outer outer(c, i)   where matrix i is on either side, {from, to}
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ T tile[kTile * (kTile + 1)];
  const int t = threadIdx.x, tx = t % kTile, ty = t / kTile;
  u32 rest = blockIdx.x;
  const int i0 = (int)(rest % (u32)c.columns) * kTile;
  rest /= (u32)c.columns;
  const int j0 = (int)(rest % (u32)c.rows) * kTile;
  rest /= (u32)c.rows;
  const Outer at = outer(c, rest);
#pragma unroll
  for (int k = ty; k < kTile; k += kThreads / kTile) {
    const int i = i0 + k, j = j0 + tx;
    if (i < c.width && j < c.height)
      tile[k * (kTile + 1) + tx] = p.x[(s64)at.from + c.from + (s64)i * c.from_stride + j];
  }
  __syncthreads();
#pragma unroll
  for (int k = ty; k < kTile; k += kThreads / kTile) {
    const int i = i0 + tx, j = j0 + k;
    if (i < c.width && j < c.height) p.y[(s64)at.to + c.to + i + (s64)j * c.to_stride] = tile[tx * (kTile + 1) + k];
  }
}
