#include "ops/slice/slice_range.h"

#include <algorithm>

#include "base/limits.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

// Exporters write "to the end" as a very large number, of 32 or 64 bits.
constexpr int64_t kFar = INT32_MAX;
constexpr int64_t kBeyond = limits::kMaxElements * 4;

int64_t from_end(int64_t v, int64_t extent) { return v < 0 ? std::max(v, -kFar - extent) + extent : v; }

}  // namespace

SliceRange slice_range(int64_t extent, int64_t start, int64_t end, int64_t step) {
  SliceRange r;
  r.step = step;
  if (extent <= 0 || step == 0) return r;
  start = from_end(start, extent);
  end = from_end(end, extent);
  if (step > 0) {
    r.start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    if (end > r.start) r.count = (end - r.start - 1) / step + 1;
  } else {
    r.start = std::clamp<int64_t>(start, 0, extent - 1);
    end = std::clamp<int64_t>(end, -1, extent - 1);
    if (r.start > end) r.count = step == INT64_MIN ? 1 : (r.start - end - 1) / -step + 1;
  }
  return r;
}

std::optional<Dim> slice_count(const Dim& extent, const Dim& given_start, const Dim& given_end, int64_t step,
                               const Graph* graph) {
  if (extent.is_const() && given_start.is_const() && given_end.is_const())
    return Dim(slice_range(extent.value(), given_start.value(), given_end.value(), step).count);
  // Beyond every possible extent nothing changes any more, and sums cannot overflow.
  const auto bounded = [](const Dim& d) { return d.is_const() ? Dim(std::clamp(d.value(), -kBeyond, kBeyond)) : d; };
  const Dim start = bounded(given_start), end = bounded(given_end);
  for (const Dim* bound : {&start, &end})
    if (!bound->is_const() && !never_negative(*bound, graph)) return std::nullopt;
  const auto counts_back = [](const Dim& d) { return d.is_const() && d.value() < 0; };
  const auto far = [](const Dim& d) { return d.is_const() && d.value() >= kFar; };
  if (step > 0) {
    // The length before the step is applied, in the simplest form that holds for every extent.
    Dim length;
    const bool from_zero = start.is_const() && start.value() == 0;
    if (far(end) || end == extent) {
      if (from_zero)
        length = extent;
      else if (counts_back(start))
        length = dim_min(extent, Dim(0) - start);
      else
        length = dim_max(0, extent - start);
    } else if (counts_back(end) && !counts_back(start)) {
      length = dim_max(0, extent + end - start);
    } else if (from_zero) {
      length = dim_min(end, extent);
    } else {
      const Dim first = counts_back(start) ? dim_max(0, extent + start) : dim_min(start, extent);
      const Dim last = counts_back(end) ? dim_max(0, extent + end) : dim_min(end, extent);
      length = dim_max(0, last - first);
    }
    return step == 1 ? length : ceil_div(length, step);
  }
  const bool from_last = far(start) || (start.is_const() && start.value() == -1);
  const bool to_first = end.is_const() && end.value() <= -kFar;
  Dim length;
  if (from_last && to_first) {
    length = extent;
  } else {
    const Dim first = from_last            ? extent - 1
                      : counts_back(start) ? dim_max(0, extent + start)
                                           : dim_min(start, extent - 1);
    const Dim last = to_first ? Dim(-1) : counts_back(end) ? dim_max(-1, extent + end) : dim_min(end, extent - 1);
    length = dim_min(extent, dim_max(0, first - last));
  }
  return step == -1 ? length : ceil_div(length, -step);
}

}  // namespace wootz::ops
