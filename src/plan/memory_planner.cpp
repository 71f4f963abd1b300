// Packing intervals of time into as little memory as possible is NP-hard; networks are kind, though. Several cheap
// strategies are tried until one reaches the lower bound, which no plan can beat; the best one wins.
#include "plan/memory_planner.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace wootz {
namespace {

constexpr int kPromotions = 24;  // rounds of moving what sticks out to the front of the order
constexpr size_t kPairsPerBuffer =
    24;  // bounds the work of one plan, times log n: the result must not depend on a clock

struct Item {
  size_t bytes = 0;         // aligned, not 0
  int first = 0, last = 0;  // times: numbers of steps, backward too, or others in their order
};

struct Packing {
  std::vector<size_t> offsets;
  size_t bytes = SIZE_MAX;
};

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

std::vector<size_t> order_by(size_t count, const std::function<bool(size_t, size_t)>& less) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), less);
  return order;
}

size_t lower_bound_of(const std::vector<Item>& items) {
  const auto starts = order_by(items.size(), [&](size_t a, size_t b) { return items[a].first < items[b].first; });
  const auto ends = order_by(items.size(), [&](size_t a, size_t b) { return items[a].last < items[b].last; });
  size_t alive = 0, peak = 0, gone = 0;
  for (const size_t i : starts) {
    while (gone < ends.size() && items[ends[gone]].last < items[i].first) alive -= items[ends[gone++]].bytes;
    alive += items[i].bytes;
    peak = std::max(peak, alive);
  }
  return peak;
}

// Free ranges below `end`, joined where they touch.
class Heap {
 public:
  size_t take(size_t bytes) {
    const auto best = by_size_.lower_bound({bytes, 0});
    if (best != by_size_.end()) {
      const auto [size, offset] = *best;
      drop(offset, size);
      if (size > bytes) add(offset + bytes, size - bytes);
      return offset;
    }
    size_t offset = end_;
    if (!holes_.empty() && holes_.rbegin()->first + holes_.rbegin()->second == end_) {
      offset = holes_.rbegin()->first;
      drop(offset, holes_.rbegin()->second);
    }
    end_ = offset + bytes;
    return offset;
  }
  void give(size_t offset, size_t bytes) {
    auto next = holes_.lower_bound(offset);
    if (next != holes_.end() && offset + bytes == next->first) {
      const auto [at, size] = *next;
      bytes += size;
      drop(at, size);
      next = holes_.lower_bound(offset);
    }
    if (next != holes_.begin()) {
      const auto [at, size] = *std::prev(next);
      if (at + size == offset) {
        drop(at, size);
        offset = at;
        bytes += size;
      }
    }
    add(offset, bytes);
  }
  size_t end() const { return end_; }

 private:
  void add(size_t offset, size_t bytes) {
    holes_[offset] = bytes;
    by_size_.insert({bytes, offset});
  }
  void drop(size_t offset, size_t bytes) {
    holes_.erase(offset);
    by_size_.erase({bytes, offset});
  }
  std::map<size_t, size_t> holes_;
  std::set<std::pair<size_t, size_t>> by_size_;
  size_t end_ = 0;
};

// As a heap would serve it, in order of time: the smallest hole that fits.
Packing pack_by_time(const std::vector<Item>& items) {
  const auto starts = order_by(items.size(), [&](size_t a, size_t b) {
    return items[a].first != items[b].first ? items[a].first < items[b].first : items[a].bytes > items[b].bytes;
  });
  const auto ends = order_by(items.size(), [&](size_t a, size_t b) { return items[a].last < items[b].last; });
  Packing packing;
  packing.offsets.resize(items.size());
  Heap heap;
  size_t gone = 0;
  for (const size_t i : starts) {
    for (; gone < ends.size() && items[ends[gone]].last < items[i].first; ++gone)
      heap.give(packing.offsets[ends[gone]], items[ends[gone]].bytes);
    packing.offsets[i] = heap.take(items[i].bytes);
  }
  packing.bytes = heap.end();
  return packing;
}

Packing pack_backward(std::vector<Item> items) {
  for (Item& item : items) item = {item.bytes, -item.last, -item.first};
  return pack_by_time(items);
}

// The placed items that live at some time of an interval, without looking at the others.
class Placed {
 public:
  Placed(int begin, int end) : begin_(begin) {
    while (leaves_ < static_cast<size_t>(end - begin) + 1) leaves_ *= 2;
    covering_.resize(2 * leaves_);
  }
  void add(size_t item, int first, int last) {
    starting_[first].push_back(item);
    size_t low = leaf(first), high = leaf(last) + 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) covering_[low++].push_back(item);
      if (high % 2 == 1) covering_[--high].push_back(item);
    }
  }
  template <typename Visit>
  void visit(int first, int last, Visit visit) const {
    for (size_t node = leaf(first); node > 0; node /= 2)
      for (const size_t item : covering_[node]) visit(item);
    for (auto it = starting_.upper_bound(first); it != starting_.end() && it->first <= last; ++it)
      for (const size_t item : it->second) visit(item);
  }

 private:
  size_t leaf(int time) const { return leaves_ + static_cast<size_t>(time - begin_); }
  int begin_;
  size_t leaves_ = 1;
  std::vector<std::vector<size_t>> covering_;  // a segment tree: by node, the items that live all of its time
  std::map<int, std::vector<size_t>> starting_;
};

class OrderedPacker {
 public:
  explicit OrderedPacker(const std::vector<Item>& items) : items_(items) {
    // Times are numbered anew: only those at which something happens count.
    std::vector<int> times;
    for (const Item& item : items) {
      times.push_back(item.first);
      times.push_back(item.last);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    const auto number = [&](int t) {
      return static_cast<int>(std::lower_bound(times.begin(), times.end(), t) - times.begin());
    };
    for (Item& item : items_) item = {item.bytes, number(item.first), number(item.last)};
    times_ = static_cast<int>(times.size());
    size_t log = 1;
    while (items.size() >> log) ++log;
    budget_ = kPairsPerBuffer * log * items.size();
  }

  bool spent() const { return budget_ == 0; }

  // Each item at the lowest place that is free all its life. No packing once the budget is spent.
  Packing pack(const std::vector<size_t>& order) {
    Packing packing;
    packing.offsets.resize(items_.size());
    Placed placed(0, times_);
    std::vector<std::pair<size_t, size_t>> taken;  // [begin, end)
    size_t end = 0;
    for (const size_t i : order) {
      const Item& item = items_[i];
      taken.clear();
      placed.visit(item.first, item.last, [&](size_t other) {
        taken.emplace_back(packing.offsets[other], packing.offsets[other] + items_[other].bytes);
      });
      if (budget_ <= taken.size()) {
        budget_ = 0;
        return {};
      }
      budget_ -= taken.size();
      std::sort(taken.begin(), taken.end());
      size_t offset = 0;
      for (const auto& [from, to] : taken) {
        if (from >= offset + item.bytes) break;
        offset = std::max(offset, to);
      }
      packing.offsets[i] = offset;
      end = std::max(end, offset + item.bytes);
      placed.add(i, item.first, item.last);
    }
    packing.bytes = end;
    return packing;
  }

 private:
  std::vector<Item> items_;
  int times_ = 0;
  size_t budget_ = 0;
};

Packing pack(const std::vector<Item>& items, size_t lower_bound) {
  Packing best;
  const auto keep = [&](Packing packing) {
    if (packing.bytes < best.bytes) best = std::move(packing);
    return best.bytes <= lower_bound;
  };
  if (keep(pack_by_time(items)) || keep(pack_backward(items))) return best;
  OrderedPacker packer(items);
  const auto by_size = order_by(items.size(), [&](size_t a, size_t b) { return items[a].bytes > items[b].bytes; });
  const auto area = [&](size_t i) {
    return static_cast<double>(items[i].bytes) * (static_cast<double>(items[i].last) - items[i].first + 1);
  };
  const auto by_area = order_by(items.size(), [&](size_t a, size_t b) { return area(a) > area(b); });
  for (std::vector<size_t> order : {by_size, by_area}) {
    // What ended above the bound goes first the next time.
    for (int round = 0; round < kPromotions && !packer.spent(); ++round) {
      const Packing packing = packer.pack(order);
      if (packing.offsets.empty() || packer.spent()) break;
      const auto sticks_out = [&](size_t i) { return packing.offsets[i] + items[i].bytes > lower_bound; };
      std::stable_partition(order.begin(), order.end(), sticks_out);
      if (keep(packing)) return best;
    }
  }
  return best;
}

}  // namespace

MemoryPlan plan_memory(std::span<const BufferLife> buffers, size_t alignment) {
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  if (!countable(buffers, alignment)) {
    plan.arena_bytes = plan.lower_bound = kMostArenaBytes;
    return plan;
  }
  std::vector<Item> items;
  std::vector<size_t> buffer_of;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].bytes == 0) continue;
    items.push_back({align_up(buffers[i].bytes, alignment), buffers[i].first.number(), buffers[i].last.number()});
    buffer_of.push_back(i);
  }
  if (items.empty()) return plan;
  plan.lower_bound = lower_bound_of(items);
  const Packing packing = pack(items, plan.lower_bound);
  plan.arena_bytes = packing.bytes;
  for (size_t i = 0; i < items.size(); ++i) plan.offsets[buffer_of[i]] = packing.offsets[i];
  return plan;
}

}  // namespace wootz
