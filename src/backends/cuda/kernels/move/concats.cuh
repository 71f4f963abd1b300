// Concatenations by one launch, whose parts are transposed and cast on the way: each part has its thread blocks.
// The problem: kThreads;
//   pick(p, c, block, part)   calls part.take<N>(y, x, count, block, at) of the part that this thread block belongs to:
//                             where both sides begin, how many times N neighbours there are, which of its blocks this
//                             is, and at(i), where those with number i are on either side, {from, to}
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

template <class Y, class X>
struct CastTo {
  static W_M Y of(X x) { return Put<Y>::to(w_get(x)); }
};

template <class T>
struct CastTo<T, T> {
  static W_M T of(T x) { return x; }
};

struct Part {
  template <int N, class Y, class X, class At>
  W_M void take(Y* y, const X* x, s64 count, u32 block, At at) const {
    const s64 i = (s64)block * kThreads + threadIdx.x;
    if (i >= count) return;
    const auto place = at(i);
    const Pack<X, N> v = *(const Pack<X, N>*)(x + place.from);
    Pack<Y, N> made;
#pragma unroll
    for (int k = 0; k < N; ++k) made.v[k] = CastTo<Y, X>::of(v.v[k]);
    *(Pack<Y, N>*)(y + place.to) = made;
  }
};

W_FN void kernel(const Operands& p, const Constants& c) { pick(p, c, blockIdx.x, Part()); }
