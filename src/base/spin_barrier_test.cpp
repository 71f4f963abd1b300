#include "base/spin_barrier.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/thread_pool.h"

namespace wootz {
namespace {

// What each thread wrote in a round is there for all others in the next, and no thread is a round ahead.
TEST(SpinBarrier, RoundsFollowEachOther) {
  constexpr int kRounds = 2000;
  SpinBarrier barrier;
  std::vector<int> at(4, 0);
  std::atomic<int> wrong{0};
  ThreadPool::process().run(4, [&](int index, int n) {
    for (int round = 1; round <= kRounds; ++round) {
      at[static_cast<size_t>(index)] = round;
      barrier.wait(n);
      for (int i = 0; i < n; ++i) wrong += at[static_cast<size_t>(i)] != round;
      barrier.wait(n);
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(at[0], kRounds);
  barrier.wait(1);  // alone: no thread to wait for
}

}  // namespace
}  // namespace wootz
