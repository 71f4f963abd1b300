#include "runtime/stream_order.h"

#include <gtest/gtest.h>

#include <random>

#include "base/testing.h"

namespace wootz {
namespace {

using Needs = std::vector<std::vector<int32_t>>;

TEST(StreamOrder, OneStreamNeedsNothing) {
  const std::vector<uint8_t> stream(3, 0);
  const StreamOrder order = order_streams(stream, Needs{{}, {0}, {1}});
  EXPECT_EQ(order.streams, 1u);
  EXPECT_EQ(order.events, 0u);
  EXPECT_TRUE(order.before(0, 2));
  EXPECT_EQ(order.last_concurrent(1), 1u);
}

// A fork after step 0, two branches, and step 3 that joins them.
TEST(StreamOrder, ForkAndJoin) {
  const std::vector<uint8_t> stream = {0, 1, 0, 0};
  const StreamOrder order = order_streams(stream, Needs{{}, {0}, {0}, {1, 2}});
  EXPECT_EQ(order.streams, 2u);
  EXPECT_EQ(order.waits[1], std::vector<int32_t>{order.record[0]});
  EXPECT_TRUE(order.waits[2].empty());
  EXPECT_EQ(order.waits[3], std::vector<int32_t>{order.record[1]});
  EXPECT_TRUE(order.joins.empty());
  EXPECT_FALSE(order.before(1, 2));
  EXPECT_TRUE(order.before(1, 3));
  EXPECT_EQ(order.last_concurrent(1), 2u);
  EXPECT_EQ(order.last_concurrent(0), 0u);
}

// A result that no step uses is waited for at the end, and what needs nothing waits for the beginning.
TEST(StreamOrder, BeginAndEnd) {
  const std::vector<uint8_t> stream = {0, 1, 0};
  const StreamOrder order = order_streams(stream, Needs{{}, {}, {0}});
  EXPECT_EQ(order.waits[1], std::vector<int32_t>{StreamOrder::kBegin});
  EXPECT_EQ(order.joins, std::vector<int32_t>{order.record[1]});
  EXPECT_EQ(order.last_concurrent(1), 2u);
}

// Records and waits for events as a device would, and holds what follows from them against what the order says.
TEST(StreamOrder, RandomProgramsAgainstReachability) {
  std::mt19937_64 random(test_seed());
  const auto pick = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int round = 0; round < 300; ++round) {
    const auto steps = static_cast<size_t>(1 + pick(39));
    const int streams = 1 + pick(3);
    std::vector<uint8_t> stream(steps);
    Needs needs(steps);
    for (size_t s = 0; s < steps; ++s) {
      stream[s] = static_cast<uint8_t>(pick(streams - 1));
      for (int k = pick(3); k > 0 && s > 0; --k) needs[s].push_back(pick(static_cast<int>(s) - 1));
    }
    const StreamOrder order = order_streams(stream, needs);
    std::vector<std::vector<uint8_t>> ended(steps + 1, std::vector<uint8_t>(steps, 0));  // by step; last: the end
    if (order.streams > 1) {
      std::vector<std::vector<uint8_t>> at_event(order.events, std::vector<uint8_t>(steps, 0));
      std::vector<std::vector<uint8_t>> known(order.streams, std::vector<uint8_t>(steps, 0));
      std::vector<uint8_t> begun(order.streams, 0);
      begun[0] = 1;
      const auto wait = [&](size_t on, int32_t event) {
        begun[on] = 1;
        for (size_t k = 0; k < steps; ++k) known[on][k] |= at_event[static_cast<size_t>(event)][k];
      };
      for (size_t s = 0; s < steps; ++s) {
        for (const int32_t event : order.waits[s]) wait(stream[s], event);
        ASSERT_TRUE(begun[stream[s]]) << "a stream begins that waits for nothing of this run";
        ended[s] = known[stream[s]];
        known[stream[s]][s] = 1;
        if (order.record[s] >= 0) at_event[static_cast<size_t>(order.record[s])] = known[stream[s]];
      }
      for (const int32_t event : order.joins) wait(0, event);
      ended[steps] = known[0];
      for (size_t s = 0; s < steps; ++s) ASSERT_TRUE(ended[steps][s]) << "the run ends before step " << s;
    } else {
      for (size_t s = 0; s < steps; ++s) std::fill_n(ended[s].begin(), s, uint8_t{1});
    }
    for (size_t s = 0; s < steps; ++s) {
      for (const int32_t need : needs[s]) ASSERT_TRUE(ended[s][static_cast<size_t>(need)]) << need << " before " << s;
      size_t concurrent = s;
      for (size_t w = s + 1; w < steps; ++w) {
        ASSERT_EQ(order.before(s, w), ended[w][s] != 0) << s << " before " << w;
        if (!ended[w][s]) concurrent = w;
      }
      ASSERT_EQ(order.last_concurrent(s), concurrent);
    }
  }
}

}  // namespace
}  // namespace wootz
