#include "build/choose_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wootz {
namespace {

// A step, two branches of four steps of 10 us that need it, and a step that needs both.
struct Branches {
  StepNeeds needs;
  IndexedVector<StepIndex, double> us;
  Branches() {
    needs.push_back({});
    for (int i = 1; i <= 8; ++i) needs.push_back({StepIndex(i == 1 || i == 5 ? 0 : i - 1)});
    needs.push_back({StepIndex(4), StepIndex(8)});
    for (size_t i = 0; i < needs.size(); ++i) us.push_back(10);
  }
};

TEST(ProposeStreams, BranchesRunBesideEachOther) {
  const Branches b;
  double done = 0;
  const StepStreams streams = propose_streams(b.needs, b.us, 2, StreamCosts{3, 4}, &done);
  EXPECT_NE(streams[StepIndex(4)], streams[StepIndex(8)]);
  EXPECT_DOUBLE_EQ(done, 10 + 3 + 40 + 10);  // and a wait for another stream
}

TEST(ProposeStreams, AChainStaysOnOneStream) {
  StepNeeds needs{{}, {StepIndex(0)}, {StepIndex(1)}, {StepIndex(2)}};
  double done = 0;
  const StepStreams streams = propose_streams(needs, {1, 2, 3, 4}, 4, StreamCosts{}, &done);
  for (const uint8_t stream : streams) EXPECT_EQ(stream, 0);
  EXPECT_DOUBLE_EQ(done, 10);
}

}  // namespace
}  // namespace wootz
