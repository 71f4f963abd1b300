#include "plan/memory_planner.h"

#include <algorithm>
#include <numeric>

namespace wootz {
namespace {

size_t align_up(size_t value, size_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

// All of them side by side would fit the address arithmetic below.
bool countable(std::span<const BufferLife> buffers, size_t alignment) {
  size_t total = 0;
  for (const BufferLife& b : buffers) {
    if (b.bytes > kMostArenaBytes || __builtin_add_overflow(total, align_up(b.bytes, alignment), &total) ||
        total > kMostArenaBytes)
      return false;
  }
  return true;
}

size_t lower_bound_of(std::span<const BufferLife> buffers, size_t alignment) {
  struct Event {
    int step;
    bool release;  // releases of step s happen after its acquisitions
    size_t bytes;
  };
  std::vector<Event> events;
  for (const BufferLife& b : buffers) {
    if (b.bytes == 0) continue;
    const size_t bytes = align_up(b.bytes, alignment);
    events.push_back({b.first, false, bytes});
    events.push_back({b.last, true, bytes});
  }
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.step != b.step ? a.step < b.step : a.release < b.release; });
  size_t alive = 0, peak = 0;
  for (const Event& e : events) {
    alive = e.release ? alive - e.bytes : alive + e.bytes;
    peak = std::max(peak, alive);
  }
  return peak;
}

}  // namespace

// Greedy by size: large buffers first, each at the lowest gap among the placed buffers whose lives overlap its own.
MemoryPlan plan_memory(std::span<const BufferLife> buffers, size_t alignment) {
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  if (!countable(buffers, alignment)) {
    plan.arena_bytes = plan.lower_bound = kMostArenaBytes;
    return plan;
  }
  plan.lower_bound = lower_bound_of(buffers, alignment);
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  std::vector<size_t> placed;  // sorted by offset
  for (size_t i : order) {
    const BufferLife& b = buffers[i];
    if (b.bytes == 0) continue;
    const size_t bytes = align_up(b.bytes, alignment);
    size_t offset = 0;
    for (size_t p : placed) {
      const BufferLife& other = buffers[p];
      if (other.last < b.first || b.last < other.first) continue;
      if (plan.offsets[p] >= offset + bytes) break;  // sorted: the gap before p fits
      offset = std::max(offset, plan.offsets[p] + align_up(other.bytes, alignment));
    }
    plan.offsets[i] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + bytes);
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                     [&](size_t value, size_t p) { return value < plan.offsets[p]; });
    placed.insert(at, i);
  }
  return plan;
}

}  // namespace wootz
