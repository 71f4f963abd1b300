#include "runtime/stream_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "backend/index_literals.h"
#include "base/testing.h"

namespace wootz {
namespace {

TEST(StreamOrder, OneStreamNeedsNothing) {
  const StepStreams stream(3, 0);
  const StreamOrder order = order_streams(stream, StepNeeds{{}, {0_step}, {1_step}});
  EXPECT_EQ(order.streams, 1u);
  EXPECT_EQ(order.events, 0u);
  EXPECT_TRUE(order.before(0_step, 2_step));
  EXPECT_EQ(order.last_concurrent(1_step), 1_step);
}

// A fork after step 0, two branches, and step 3 that joins them.
TEST(StreamOrder, ForkAndJoin) {
  const StepStreams stream = {0, 1, 0, 0};
  const StreamOrder order = order_streams(stream, StepNeeds{{}, {0_step}, {0_step}, {1_step, 2_step}});
  EXPECT_EQ(order.streams, 2u);
  EXPECT_EQ(order.waits[1_step], std::vector<int32_t>{order.record[0_step]});
  EXPECT_TRUE(order.waits[2_step].empty());
  EXPECT_EQ(order.waits[3_step], std::vector<int32_t>{order.record[1_step]});
  EXPECT_TRUE(order.joins.empty());
  EXPECT_FALSE(order.before(1_step, 2_step));
  EXPECT_TRUE(order.before(1_step, 3_step));
  EXPECT_EQ(order.last_concurrent(1_step), 2_step);
  EXPECT_EQ(order.last_concurrent(0_step), 0_step);
}

// A result that no step uses is waited for at the end, and what needs nothing waits for the beginning.
TEST(StreamOrder, BeginAndEnd) {
  const StepStreams stream = {0, 1, 0};
  const StreamOrder order = order_streams(stream, StepNeeds{{}, {}, {0_step}});
  EXPECT_EQ(order.waits[1_step], std::vector<int32_t>{StreamOrder::kBegin});
  EXPECT_EQ(order.joins, std::vector<int32_t>{order.record[1_step]});
  EXPECT_EQ(order.last_concurrent(1_step), 2_step);
}

// Records and waits for events as a device would, and holds what follows from them against what the order says.
TEST(StreamOrder, RandomProgramsAgainstReachability) {
  std::mt19937_64 random(test_seed());
  const auto pick = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int round = 0; round < 300; ++round) {
    const auto steps = static_cast<size_t>(1 + pick(39));
    const int streams = 1 + pick(3);
    StepStreams stream(steps);
    StepNeeds needs(steps);
    for (const StepIndex s : stream.indices()) {
      stream[s] = static_cast<uint8_t>(pick(streams - 1));
      for (int k = pick(3); k > 0 && s > 0_step; --k) needs[s].emplace_back(pick(s.number() - 1));
    }
    const StreamOrder order = order_streams(stream, needs);
    using Flags = IndexedVector<StepIndex, uint8_t>;
    IndexedVector<StepIndex, Flags> ended(steps, Flags(steps, 0));
    if (order.streams > 1) {
      std::vector<Flags> at_event(order.events, Flags(steps, 0)), known(order.streams, Flags(steps, 0));
      std::vector<uint8_t> begun(order.streams, 0);
      begun[0] = 1;
      const auto wait = [&](size_t on, int32_t event) {
        begun[on] = 1;
        for (const StepIndex k : stream.indices()) known[on][k] |= at_event[static_cast<size_t>(event)][k];
      };
      for (const StepIndex s : stream.indices()) {
        for (const int32_t event : order.waits[s]) wait(stream[s], event);
        ASSERT_TRUE(begun[stream[s]]) << "a stream begins that waits for nothing of this run";
        ended[s] = known[stream[s]];
        known[stream[s]][s] = 1;
        if (order.record[s] >= 0) at_event[static_cast<size_t>(order.record[s])] = known[stream[s]];
      }
      for (const int32_t event : order.joins) wait(0, event);
      for (const StepIndex s : stream.indices()) ASSERT_TRUE(known[0][s]) << "the run ends before step " << s.number();
    } else {
      for (const StepIndex s : stream.indices()) std::fill_n(ended[s].begin(), s.position(), uint8_t{1});
    }
    for (const StepIndex s : stream.indices()) {
      for (const StepIndex need : needs[s]) ASSERT_TRUE(ended[s][need]) << need.number() << " before " << s.number();
      StepIndex concurrent = s;
      for (StepIndex w = s.next(); stream.has(w); ++w) {
        ASSERT_EQ(order.before(s, w), ended[w][s] != 0) << s.number() << " before " << w.number();
        if (!ended[w][s]) concurrent = w;
      }
      ASSERT_EQ(order.last_concurrent(s), concurrent);
    }
  }
}

}  // namespace
}  // namespace wootz
