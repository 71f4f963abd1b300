#include "base/tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "base/thread_pool.h"

namespace wootz {
namespace {

TEST(Tasks, EachRunsOnce) {
  for (const int threads : {-1, 1, 2, 7}) {
    for (const size_t count : {0, 1, 2, 100}) {
      std::vector<std::atomic<int>> runs(count);
      run_tasks(count, threads, [&](size_t i) { ++runs[i]; });
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(runs[i], 1) << i << " of " << count << ", " << threads << " threads";
    }
  }
}

TEST(Tasks, RunBesideEachOther) {
  std::atomic<int> here{0};
  run_tasks(3, 3, [&](size_t) {
    ++here;
    while (here < 3) std::this_thread::yield();  // for ever, if one has to end first
  });
  EXPECT_EQ(here, 3);
}

TEST(Tasks, NoMoreThreadsThanAskedFor) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  run_tasks(200, 3, [&](size_t) {
    const std::lock_guard<std::mutex> lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_LE(threads.size(), 3U);
}

TEST(Tasks, HaveTasksOfTheirOwnOnTheSameThreads) {
  std::atomic<int> sum{0};
  std::mutex mutex;
  std::set<std::thread::id> threads;
  run_tasks(5, 2, [&](size_t) {
    run_tasks(7, 100, [&](size_t) {
      run_tasks(2, 100, [&](size_t i) { sum += static_cast<int>(i); });
      const std::lock_guard<std::mutex> lock(mutex);
      threads.insert(std::this_thread::get_id());
    });
  });
  EXPECT_EQ(sum, 5 * 7);
  EXPECT_LE(threads.size(), 2U);
}

TEST(Tasks, AreSerialWithin) {
  run_tasks(4, 2, [](size_t) { EXPECT_EQ(max_parallelism(), 1); });
  const ParallelScope three(3);
  run_tasks(4, 2, [](size_t) { EXPECT_EQ(max_parallelism(), 1); });
  EXPECT_EQ(max_parallelism(), 3);
}

TEST(Tasks, AreToldOfAndStoppedOnTheCallersThread) {
  for (const int threads : {1, 4}) {
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> begun{0};
    size_t last = 0;
    const bool all = run_tasks(
        1000, threads, [&](size_t) { ++begun; },
        [&](size_t done) {
          EXPECT_EQ(std::this_thread::get_id(), caller);
          EXPECT_GT(done, last);
          last = done;
          return done < 10;
        });
    EXPECT_FALSE(all);
    EXPECT_GE(begun, 10);
    EXPECT_LE(begun, 1000);
  }
  EXPECT_TRUE(run_tasks(
      10, 2, [](size_t) {}, [](size_t) { return true; }));
}

// The caller waits for what others have begun: it must hear of a stop meanwhile, and not return before they are done.
TEST(Tasks, WhatHasBegunIsWaitedFor) {
  std::atomic<int> done{0};
  const bool all = run_tasks(
      8, 4,
      [&](size_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        ++done;
      },
      [](size_t) { return false; });
  EXPECT_FALSE(all);
  const int then = done;
  EXPECT_GE(then, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(done, then);
}

// No memory, say: on a thread of its own it would end the process.
TEST(Tasks, WhatOneThrowsReachesTheCaller) {
  for (const int threads : {1, 4}) {
    std::atomic<int> begun{0};
    const auto within = [&](size_t i) {
      ++begun;
      run_tasks(3, 1, [&](size_t j) {
        if (i == 2 && j == 1) throw std::bad_alloc();
      });
    };
    EXPECT_THROW(run_tasks(1000, threads, within), std::bad_alloc) << threads << " threads";
    EXPECT_GE(begun, 3);
    if (threads == 1) EXPECT_EQ(begun, 3);
    std::atomic<int> after{0};
    run_tasks(5, threads, [&](size_t) { ++after; });
    EXPECT_EQ(after, 5);
  }
  const auto asked = [](size_t) -> bool { throw std::bad_alloc(); };
  EXPECT_THROW(run_tasks(
                   10, 1, [](size_t) {}, asked),
               std::bad_alloc);
}

}  // namespace
}  // namespace wootz
