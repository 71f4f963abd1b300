// One thread a result of a window over up to three spatial axes; those that are not there have extent 1.
// The problem: kThreads; A; Constants {count: of results; channels; for k = 0..2: kernel<k>, stride<k>, dilation<k>,
// pad<k>, in<k>, out<k>};
//   Place place(c, i)   result i: {n, channel, d0, d1, d2}, and where it is in y and in the epilogue's operands
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

#ifndef WOOTZ_ON_HOST
#define W_ASSUME(condition) __builtin_assume(condition)
#else
#define W_ASSUME(condition)
#endif

// False: there is no result for this thread.
W_FN bool this_result(const Constants& c, u32* i) {
  *i = blockIdx.x * (u32)kThreads + threadIdx.x;
  return *i < (u32)c.count;
}

// Result i. The compiler does not see by itself how large coordinates are, and then keeps checks that always hold.
W_FN Place place_of(const Constants& c, u32 i) {
  const Place at = place(c, i);
  W_ASSUME(at.channel >= 0 && at.channel < c.channels);
  W_ASSUME(at.d0 >= 0 && at.d0 < c.out0);
  W_ASSUME(at.d1 >= 0 && at.d1 < c.out1);
  W_ASSUME(at.d2 >= 0 && at.d2 < c.out2);
  return at;
}
