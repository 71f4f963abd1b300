// How padding finds the place from which a coordinate outside of an axis comes; `inside` becomes false where there is
// none.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

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
