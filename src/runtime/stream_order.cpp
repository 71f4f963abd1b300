#include "runtime/stream_order.h"

#include <algorithm>

namespace wootz {
namespace {

constexpr int32_t kNoEvent = -1;

// For each step the last one that is not ordered after it. Along a stream clocks only grow, so that the first step of
// each other stream that is after `s` moves on with `s`.
void find_concurrent(StreamOrder* order) {
  std::vector<std::vector<StepIndex>> of(order->streams);
  for (const StepIndex s : order->stream.indices()) {
    of[order->stream[s]].push_back(s);
    order->concurrent.push_back(s);
  }
  for (size_t mine = 0; mine < order->streams; ++mine) {
    for (size_t other = 0; other < order->streams; ++other) {
      if (other == mine) continue;
      size_t after = 0;
      for (const StepIndex s : of[mine]) {
        while (after < of[other].size() && order->ended_before(of[other][after])[mine] < s) ++after;
        if (after > 0) order->concurrent[s] = std::max(order->concurrent[s], of[other][after - 1]);
      }
    }
  }
}

}  // namespace

StreamOrder order_streams(const StepStreams& stream, const StepNeeds& needs) {
  StreamOrder order;
  for (const uint8_t s : stream) order.streams = std::max<size_t>(order.streams, s + size_t{1});
  if (order.streams == 1) return order;
  order.stream = stream;
  order.waits.resize(stream.size());
  order.record.assign(stream.size(), kNoEvent);
  order.ended.resize(stream.size() * order.streams);
  order.events = 1;  // kBegin
  std::vector<StepIndex> last(order.streams);
  const auto record_after = [&](StepIndex step) {
    int32_t& event = order.record[step];
    if (event == kNoEvent) event = static_cast<int32_t>(order.events++);
    return event;
  };
  // What has ended at `to` when it waits for `step`.
  const auto learn = [&](StepIndex* to, StepIndex step) {
    const StepIndex* const from = order.ended_before(step);
    for (size_t k = 0; k < order.streams; ++k) to[k] = std::max(to[k], from[k]);
    StepIndex& own = to[order.stream[step]];
    own = std::max(own, step);
  };
  for (const StepIndex s : stream.indices()) {
    StepIndex* const ended = order.ended_before(s);
    const uint8_t mine = order.stream[s];
    if (last[mine].exists()) learn(ended, last[mine]);
    std::vector<StepIndex> needed = needs[s];
    std::sort(needed.rbegin(), needed.rend());  // the latest first: it may have waited for the others
    for (const StepIndex need : needed) {
      if (ended[order.stream[need]] >= need) continue;
      order.waits[s].push_back(record_after(need));
      learn(ended, need);
    }
    if (mine != 0 && !last[mine].exists() && order.waits[s].empty()) order.waits[s].push_back(StreamOrder::kBegin);
    last[mine] = s;
  }
  for (size_t k = 1; k < order.streams; ++k)
    if (last[k].exists() && (!last[0].exists() || order.ended_before(last[0])[k] < last[k]))
      order.joins.push_back(record_after(last[k]));
  find_concurrent(&order);
  return order;
}

}  // namespace wootz
