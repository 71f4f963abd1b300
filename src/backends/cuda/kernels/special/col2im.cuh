// Col2Im: a pixel a thread, which sums what the blocks over it have there, in the order in which a block is laid out.
// The problem: A: type of sums; kThreads; kAxes: of an image; Constants {count: pixels; channel: elements of x0 for a
// channel; positions: of blocks};
//   result(c, a), begin(c, a)       extent of y along axis a of an image, and its padding in front
//   block(c, a), blocks(c, a)       extent of a block, and how many there are
//   stride(c, a), dilation(c, a)    between blocks, and between elements of one
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

// Along the axes from `AXIS` on; `tap` and `position` count what is before them.
template <int AXIS>
W_FN void add_blocks(const X0* x, const Constants& c, const s64* at, s64 tap, s64 position, A* sum) {
  if constexpr (AXIS == kAxes) {
    *sum += (A)w_get(x[tap * c.positions + position]);
  } else {
    for (int k = 0; k < block(c, AXIS); ++k) {
      // What the block's corner would be is a corner of a block.
      const s64 corner = at[AXIS] - (s64)k * dilation(c, AXIS), b = corner / stride(c, AXIS);
      if (corner < 0 || corner % stride(c, AXIS) != 0 || b >= blocks(c, AXIS)) continue;
      add_blocks<AXIS + 1>(x, c, at, tap * block(c, AXIS) + k, position * blocks(c, AXIS) + b, sum);
    }
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  s64 rest = i, at[kAxes];
#pragma unroll
  for (int a = kAxes - 1; a >= 0; --a) {
    at[a] = rest % result(c, a) + begin(c, a);
    rest /= result(c, a);
  }
  A sum = 0;
  add_blocks<0>(p.x0 + rest * c.channel, c, at, 0, 0, &sum);
  p.y0[i] = Put<Y0>::to((Reg<Y0>::t)sum);
}
