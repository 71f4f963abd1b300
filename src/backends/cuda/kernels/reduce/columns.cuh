// A reduction across rows of memory, as the mean of a channels-last image.
// The problem: that of reduce/column_strip.cuh;
//   Kept kept(c, i)          where result i is in each operand
//   epilogue(p, c, f, at)    the expression behind it
#pragma once
#include "backends/cuda/kernels/reduce/column_strip.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ A shared[kWarps * kColumns];
  const Strip strip = this_strip(c);
  reduce_rows(p.x, c, strip, shared);
  __syncthreads();
  const int t = threadIdx.x;
  if (t >= kColumns) return;
  const A s = join_warps(shared, t);
  const Kept at = kept(c, strip.first + t);
  p.y[at.y] = epilogue(p, c, Reduction::end(s, c), at);
}
