// A concatenation with an expression on it: each part has its thread blocks, whose threads compute kVector neighbours.
// The problem: X: type of the parts, Y: of the results; kThreads; kVector;
//   bool pick(p, c, block, &x, &at)   the part that this thread block belongs to, and where the thread's neighbours are
//                                     in it, in the result and in what the expression reads: Place {x, y, ...}; false:
//                                     it has none
//   Pack<Y, kVector> results(p, c, at, v)   the expression
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const X* x;
  Place at;
  if (!pick(p, c, blockIdx.x, &x, &at)) return;
  const Pack<X, kVector> v = *(const Pack<X, kVector>*)(x + at.x);
  *(Pack<Y, kVector>*)(p.y + at.y) = results(p, c, at, v);
}
