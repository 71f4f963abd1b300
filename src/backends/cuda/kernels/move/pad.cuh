// Padding: a thread an element of the result, its source found axis by axis.
// The problem: kThreads, kValue; Mode: one of the below; Constants {count};
//   source<Mode>(c, i, &inside)   where element i comes from; `inside` becomes false where that is kValue
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

// Where a coordinate from outside of an axis comes from.
struct PadConstant {
  static W_M s64 at(s64 i, s64 extent, bool* inside) {
    if (i < 0 || i >= extent) *inside = false;
    return i;
  }
};

struct PadEdge {
  static W_M s64 at(s64 i, s64 extent, bool*) { return i < 0 ? 0 : i >= extent ? extent - 1 : i; }
};

struct PadWrap {
  static W_M s64 at(s64 i, s64 extent, bool*) {
    i %= extent;
    return i < 0 ? i + extent : i;
  }
};

struct PadReflect {
  static W_M s64 at(s64 i, s64 extent, bool*) {
    if (extent == 1) return 0;
    const s64 period = 2 * (extent - 1);
    i %= period;
    if (i < 0) i += period;
    return i >= extent ? period - i : i;
  }
};

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  bool inside = true;
  const s64 from = source<Mode>(c, i, &inside);
  p.y[i] = inside ? p.x[from] : Put<T>::to(w_cast<typename Reg<T>::t>(kValue));
}
