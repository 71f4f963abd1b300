// Pad by numbers that may be known only when the kernel runs: a thread a result.
// The problem: that of special/places.cuh; Mode: one of move/pad_modes.cuh; kThreads; kGiven: x2 is the value, else
// kValue; Constants {count};
//   before(p, k)   elements put in front of axis k
#pragma once
#include "backends/cuda/kernels/move/pad_modes.cuh"
#include "backends/cuda/kernels/special/places.cuh"

template <class P>
W_FN void kernel(const P& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const Source source =
      source_of(c, i, [&](int k, s64 at, bool* inside) { return Mode::at(at - before(p, k), extent(c, k), inside); });
  if constexpr (kGiven)
    p.y0[i] = source.inside ? p.x0[source.at] : p.x2[0];
  else
    p.y0[i] = source.inside ? p.x0[source.at] : Put<Y0>::to(w_cast<typename Reg<Y0>::t>(kValue));
}
