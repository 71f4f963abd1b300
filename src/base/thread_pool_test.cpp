#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace wootz {
namespace {

// A barrier that only passes when all n are really there at once.
void meet(std::atomic<int>* arrived, int n) {
  arrived->fetch_add(1);
  while (arrived->load() < n) std::this_thread::yield();
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

TEST(ThreadPool, AllThreadsOfAGangRunAtOnce) {
  for (int n : {1, 2, 3, 7}) {  // also more than the machine has
    std::atomic<int> arrived{0};
    std::vector<int> seen(static_cast<size_t>(n), 0);
    ThreadPool::process().run(n, [&](int index, int count) {
      EXPECT_EQ(count, n);
      seen[static_cast<size_t>(index)]++;
      meet(&arrived, n);
    });
    EXPECT_EQ(seen, std::vector<int>(static_cast<size_t>(n), 1));
  }
}

TEST(ThreadPool, GangsOfManyCallersNeverInterleave) {
  std::atomic<int> inside{0};
  std::atomic<int> bad{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      ActiveScope active;
      for (int i = 0; i < 200; ++i) {
        std::atomic<int> arrived{0};
        ThreadPool::process().run(3, [&](int index, int) {
          if (index == 0 && inside.fetch_add(1) != 0) bad++;
          meet(&arrived, 3);
          if (index == 0) inside.fetch_sub(1);
        });
      }
    });
  for (auto& t : callers) t.join();
  EXPECT_EQ(bad.load(), 0);
}

TEST(ThreadPool, NestedRunIsSerial) {
  std::atomic<int> calls{0};
  ThreadPool::process().run(2, [&](int, int) {
    EXPECT_TRUE(ThreadPool::in_gang());
    EXPECT_EQ(max_parallelism(), 1);
    ThreadPool::process().run(4, [&](int index, int n) {
      EXPECT_EQ(index, 0);
      EXPECT_EQ(n, 1);
      calls++;
    });
    int64_t sum = 0;
    parallel_for(10, 1, [&](int64_t b, int64_t e) { sum += e - b; });
    EXPECT_EQ(sum, 10);
    EXPECT_FALSE(ThreadPool::process().configure({}).ok());
  });
  EXPECT_EQ(calls.load(), 2);
  EXPECT_FALSE(ThreadPool::in_gang());
}

TEST(ThreadPool, ParallelForCoversEachElementOnce) {
  for (int threads : {1, 2, 3, 5}) {
    ParallelScope scope(threads);
    EXPECT_EQ(max_parallelism(), threads);
    for (int64_t total : {0, 1, 5, 64, 1000})
      for (int64_t grain : {0, 1, 7, 2000}) {
        std::vector<std::atomic<int>> hits(static_cast<size_t>(total));
        std::atomic<int> pieces{0};
        parallel_for(total, grain, [&](int64_t b, int64_t e) {
          pieces++;
          EXPECT_LT(b, e);
          EXPECT_GE(e - b, std::min(grain, total));
          for (int64_t i = b; i < e; ++i) hits[static_cast<size_t>(i)]++;
        });
        for (auto& h : hits) EXPECT_EQ(h.load(), 1);
        EXPECT_LE(pieces.load(), threads);
        EXPECT_EQ(pieces.load(), total > 0 ? parallel_pieces(total, grain) : 0);
      }
  }
  EXPECT_EQ(max_parallelism(), ThreadPool::process().size());
}

TEST(ThreadPool, ScopesNestPerThread) {
  ParallelScope outer(3);
  {
    ParallelScope inner(2);
    EXPECT_EQ(max_parallelism(), 2);
    std::thread([] { EXPECT_EQ(max_parallelism(), ThreadPool::process().size()); }).join();
  }
  EXPECT_EQ(max_parallelism(), 3);
}

TEST(ThreadPool, ConfigureBetweenGangs) {
  auto& pool = ThreadPool::process();
  const int before = pool.size();
  ASSERT_TRUE(pool.configure({.threads = 3, .affinity = {0}, .spin_us = 0}).ok());
  EXPECT_EQ(pool.size(), 3);
  std::atomic<int> ran{0};
  pool.run(3, [&](int, int) { ran++; });
  EXPECT_EQ(ran.load(), 3);
  EXPECT_FALSE(pool.configure({.threads = -1}).ok());
  EXPECT_FALSE(pool.configure({.threads = 1, .affinity = {-5}}).ok());
  ASSERT_TRUE(pool.configure({}).ok());
  EXPECT_EQ(pool.size(), before);
}

TEST(ThreadPool, IdleUsesNoCpu) {
  {
    ActiveScope active;
    ThreadPool::process().run(3, [](int, int) {});
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // let a spin that had begun end
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(cpu_seconds() - before, 0.005);
}

#if !defined(__SANITIZE_THREAD__)
TEST(ThreadPool, AForkedChildHasAPoolOfItsOwn) {
  ThreadPool::process().run(3, [](int, int) {});
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int> ran{0};
    ThreadPool::process().run(3, [&](int, int) { ran++; });
    _exit(ran.load() == 3 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ThreadPool, ExitInsideAGangDoesNotHang) {
  EXPECT_EXIT(
      {
        alarm(20);
        ThreadPool::process().run(3, [](int index, int) {
          if (index == 0) std::exit(7);
          for (;;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
      },
      testing::ExitedWithCode(7), "");
}
#endif

TEST(ThreadPool, ResultsOfSplitStartAndFinish) {
  std::atomic<int> sum{0};
  auto& pool = ThreadPool::process();
  const int n = pool.start(
      4, [](void* c, int index, int) { static_cast<std::atomic<int>*>(c)->fetch_add(index); }, &sum);
  EXPECT_EQ(n, 4);
  pool.finish(n);
  EXPECT_EQ(sum.load(), 1 + 2 + 3);
}

}  // namespace
}  // namespace wootz
