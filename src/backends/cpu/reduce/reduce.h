// What both reductions share: the loop nest of kept and reduced axes.
#pragma once

#include <array>

#include "backends/cpu/epilogue.h"
#include "backends/cpu/kernel_entry.h"

namespace wootz::cpu {

// Axes merged where neighbours are both kept or both reduced, outermost first.
struct ReduceNest {
  struct Axis {
    int64_t extent, stride;
  };
  std::array<Axis, limits::kMaxRank> kept{}, reduced{};
  int num_kept = 0, num_reduced = 0;
  int64_t outputs = 1, count = 1;  // elements of the result; elements that make one of them
  bool inner_reduced = false;      // the innermost axis is reduced: results come from contiguous rows

  // Where the elements of output `index` begin.
  int64_t base(int64_t index) const {
    int64_t at = 0;
    for (int i = num_kept - 1; i >= 0; --i) {
      const Axis& a = kept[static_cast<size_t>(i)];
      at += index % a.extent * a.stride;
      index /= a.extent;
    }
    return at;
  }
  // f(offset) for every combination of the reduced axes except the innermost `skip` of them.
  template <class Fn>
  void each(int skip, Fn f) const {
    std::array<int64_t, limits::kMaxRank> index{};
    const int axes = num_reduced - skip;
    int64_t at = 0;
    for (;;) {
      f(at);
      int i = axes - 1;
      for (; i >= 0; --i) {
        const Axis& a = reduced[static_cast<size_t>(i)];
        at += a.stride;
        if (++index[static_cast<size_t>(i)] < a.extent) break;
        at -= a.extent * a.stride;
        index[static_cast<size_t>(i)] = 0;
      }
      if (i < 0) return;
    }
  }
};

// The nest for concrete extents. Errors: axes outside the rank or twice, an output of another shape.
Result<ReduceNest> reduce_nest(const Problem& problem, const Dims& in, const Dims& out);

// Everything but types.
Status check_reduce(const Problem& problem, DType tile);

}  // namespace wootz::cpu
