// Padding: a thread an element of the result, its source found axis by axis.
// The problem: kThreads, kValue; Mode: one of move/pad_modes.cuh; Constants {count};
//   source<Mode>(c, i, &inside)   where element i comes from; `inside` becomes false where that is kValue
#pragma once
#include "backends/cuda/kernels/move/pad_modes.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  bool inside = true;
  const s64 from = source<Mode>(c, i, &inside);
  p.y[i] = inside ? p.x[from] : Put<T>::to(w_cast<typename Reg<T>::t>(kValue));
}
