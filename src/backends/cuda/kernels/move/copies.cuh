// Copies of strided blocks, several by one launch: each has its thread blocks.
// The problem: kThreads;
//   pick(p, c, block, copy)   calls copy(y, x, count, block, at) of the part that this thread block belongs to: where
//                             it begins on either side, its elements, which of its blocks this is, and at(i), where
//                             element i is on either side, {from, to}
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  pick(p, c, blockIdx.x, [](auto* y, const auto* x, s64 count, u32 block, auto at) {
    const s64 i = (s64)block * kThreads + threadIdx.x;
    if (i >= count) return;
    const auto place = at(i);
    y[place.to] = x[place.from];
  });
}
