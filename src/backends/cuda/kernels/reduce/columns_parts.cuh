// As reduce/columns.cuh, where blocks share the rows: what each share gives, for reduce/columns_join.cuh.
// The problem: that of reduce/column_strip.cuh; Constants {count: of results}.
#pragma once
#include "backends/cuda/kernels/reduce/column_strip.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ A shared[kWarps * kColumns];
  const Strip strip = this_strip(c);
  reduce_rows(p.x, c, strip, shared);
  __syncthreads();
  const int t = threadIdx.x;
  if (t < kColumns) p.part[strip.share * c.count + strip.first + t] = join_warps(shared, t);
}
