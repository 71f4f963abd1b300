// One thread a result of a window over up to three spatial axes; those that are not there have extent 1.
// The problem: kThreads; A; Constants {count: of results; for k = 0..2: kernel<k>, stride<k>, dilation<k>, pad<k>,
// in<k>};
//   Place place(c, i)   result i: {n, channel, d0, d1, d2}, and where it is in y and in the epilogue's operands
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

// False: there is no result for this thread.
W_FN bool this_result(const Constants& c, u32* i) {
  *i = blockIdx.x * (u32)kThreads + threadIdx.x;
  return *i < (u32)c.count;
}
