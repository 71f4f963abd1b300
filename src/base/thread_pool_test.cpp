#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

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

// Members that wait for one another and not for the caller: it may take one of them.
TEST(ThreadPool, MembersMeetWithoutTheCaller) {
  const ActiveScope active;
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> arrived{0};
    ThreadPool::process().run(4, [&](int index, int n) {
      if (index != 0 && n == 4) meet(&arrived, 3);
    });
    EXPECT_EQ(arrived, 3);
  }
}

TEST(ThreadPool, EveryPieceOnceWhoeverDoesIt) {
  const ActiveScope active;
  const ParallelScope scope(4);
  std::vector<std::atomic<int>> hits(64);
  for (int round = 0; round < 20000; ++round)
    parallel_for(64, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) hits[static_cast<size_t>(i)].fetch_add(1, std::memory_order_relaxed);
    });
  for (auto& h : hits) EXPECT_EQ(h, 20000);
}

#if !defined(__SANITIZE_THREAD__)
// Holds threads inside a signal handler, as a busy machine holds them without a processor. (The thread sanitizer would
// put the handler off until the thread calls something that it knows.)
std::atomic<int> held{0};
std::atomic<bool> hold{false};
void hold_thread(int) {
  ++held;
  const timespec moment{0, 1'000'000};
  while (hold) nanosleep(&moment, nullptr);
  --held;
}

class HeldWorkers {
 public:
  HeldWorkers(const std::vector<pthread_t>& threads) {
    struct sigaction action {};
    action.sa_handler = hold_thread;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, &before_);
    hold = true;
    for (const pthread_t t : threads) pthread_kill(t, SIGUSR2);
    while (held < static_cast<int>(threads.size())) std::this_thread::yield();
  }
  ~HeldWorkers() {
    hold = false;
    while (held > 0) std::this_thread::yield();
    sigaction(SIGUSR2, &before_, nullptr);
  }

 private:
  struct sigaction before_ {};
};

TEST(ThreadPool, TheCallerDoesNotWaitForWorkersThatHaveNotBegun) {
  constexpr int kThreads = 4;
  std::vector<pthread_t> workers(kThreads);
  std::atomic<int> arrived{0};
  ThreadPool::process().run(kThreads, [&](int index, int) {
    workers[static_cast<size_t>(index)] = pthread_self();
    meet(&arrived, kThreads);
  });
  workers.erase(workers.begin());
  const pthread_t caller = pthread_self();
  std::atomic<bool> done{false};
  std::atomic<bool> late{false};
  std::thread watch([&] {  // so that a failure is a failure and not a hang
    for (int i = 0; i < 1000 && !done; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!done) late = true, hold = false;
  });
  std::atomic<int> hits{0}, elsewhere{0};
  {
    const HeldWorkers holding(workers);
    const ActiveScope active;
    const ParallelScope scope(kThreads);
    for (int round = 0; round < 100; ++round)
      parallel_for(1000, 1, [&](int64_t begin, int64_t end) {
        hits += static_cast<int>(end - begin);
        elsewhere += pthread_equal(pthread_self(), caller) == 0;
      });
    ThreadPool::process().run(kThreads, [&](int, int n) { hits += n; });
    done = true;
  }
  watch.join();
  EXPECT_FALSE(late);
  EXPECT_EQ(hits, 100 * 1000 + kThreads * kThreads);
  EXPECT_EQ(elsewhere, 0);
  arrived = 0;  // and they come back
  ThreadPool::process().run(kThreads, [&](int, int) { meet(&arrived, kThreads); });
  EXPECT_EQ(arrived, kThreads);
}

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
