// A reduction of rows.
// The problem: that of common/rows.cuh and reduce/reductions.cuh; Reduction: one of the latter;
//   epilogue(p, c, f, at)   the expression behind it, on the result of a row
#pragma once
#include "backends/cuda/kernels/common/rows.cuh"
#include "backends/cuda/kernels/reduce/reductions.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ A shared[kThreads];
  const Thread t = this_thread(c);
  const Kept at = kept(c, t.row);
  A a = Reduction::start();
  Elements().each(p, c, at, t.number, [&](int, A v) { a = Reduction::step(a, v); });
  a = over_row(a, shared, Reduction::Join());
  if (t.live && t.number == 0) p.y[at.y] = epilogue(p, c, (R)Reduction::end(a, c), at);
}
