#include "runtime/stream_order.h"

#include <algorithm>

namespace wootz {
namespace {

constexpr int32_t kNone = -1;

// For each step the last one that is not ordered after it. Along a stream clocks only grow, so that the first step of
// each other stream that is after `s` moves on with `s`.
void find_concurrent(StreamOrder* order) {
  const size_t steps = order->stream.size();
  std::vector<std::vector<int32_t>> of(order->streams);
  for (size_t s = 0; s < steps; ++s) of[order->stream[s]].push_back(static_cast<int32_t>(s));
  order->concurrent.resize(steps);
  for (size_t s = 0; s < steps; ++s) order->concurrent[s] = static_cast<int32_t>(s);
  for (size_t mine = 0; mine < order->streams; ++mine) {
    for (size_t other = 0; other < order->streams; ++other) {
      if (other == mine) continue;
      size_t after = 0;
      for (const int32_t s : of[mine]) {
        const auto ended = [&](int32_t w) { return order->ended[static_cast<size_t>(w) * order->streams + mine]; };
        while (after < of[other].size() && ended(of[other][after]) < s) ++after;
        if (after > 0)
          order->concurrent[static_cast<size_t>(s)] =
              std::max(order->concurrent[static_cast<size_t>(s)], of[other][after - 1]);
      }
    }
  }
}

}  // namespace

StreamOrder order_streams(std::span<const uint8_t> stream, std::span<const std::vector<int32_t>> needs) {
  StreamOrder order;
  for (const uint8_t s : stream) order.streams = std::max<size_t>(order.streams, s + size_t{1});
  if (order.streams == 1) return order;
  const size_t steps = stream.size();
  order.stream.assign(stream.begin(), stream.end());
  order.waits.resize(steps);
  order.record.assign(steps, kNone);
  order.ended.assign(steps * order.streams, kNone);
  order.events = 1;  // kBegin
  std::vector<int32_t> last(order.streams, kNone);
  const auto record_after = [&](int32_t step) {
    int32_t& event = order.record[static_cast<size_t>(step)];
    if (event == kNone) event = static_cast<int32_t>(order.events++);
    return event;
  };
  // What has ended at `to` when it waits for `step`.
  const auto learn = [&](int32_t* to, int32_t step) {
    const int32_t* const from = order.ended.data() + static_cast<size_t>(step) * order.streams;
    for (size_t k = 0; k < order.streams; ++k) to[k] = std::max(to[k], from[k]);
    int32_t& own = to[order.stream[static_cast<size_t>(step)]];
    own = std::max(own, step);
  };
  for (size_t s = 0; s < steps; ++s) {
    int32_t* const ended = order.ended.data() + s * order.streams;
    const uint8_t mine = order.stream[s];
    if (last[mine] != kNone) learn(ended, last[mine]);
    std::vector<int32_t> needed = needs[s];
    std::sort(needed.rbegin(), needed.rend());  // the latest first: it may have waited for the others
    for (const int32_t need : needed) {
      if (ended[order.stream[static_cast<size_t>(need)]] >= need) continue;
      order.waits[s].push_back(record_after(need));
      learn(ended, need);
    }
    if (mine != 0 && last[mine] == kNone && order.waits[s].empty()) order.waits[s].push_back(StreamOrder::kBegin);
    last[mine] = static_cast<int32_t>(s);
  }
  for (size_t k = 1; k < order.streams; ++k)
    if (last[k] != kNone &&
        (last[0] == kNone || order.ended[static_cast<size_t>(last[0]) * order.streams + k] < last[k]))
      order.joins.push_back(record_after(last[k]));
  find_concurrent(&order);
  return order;
}

}  // namespace wootz
