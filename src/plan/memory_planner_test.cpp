#include "plan/memory_planner.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <utility>

#include "backend/index_literals.h"
#include "base/testing.h"

namespace wootz {
namespace {

void expect_sound(const std::vector<BufferLife>& buffers, const MemoryPlan& plan) {
  for (size_t a = 0; a < buffers.size(); ++a) {
    EXPECT_EQ(plan.offsets[a] % 64, 0u);
    EXPECT_LE(plan.offsets[a] + buffers[a].bytes, plan.arena_bytes);
    for (size_t b = a + 1; b < buffers.size(); ++b) {
      if (buffers[a].last < buffers[b].first || buffers[b].last < buffers[a].first) continue;
      if (buffers[a].bytes == 0 || buffers[b].bytes == 0) continue;
      EXPECT_TRUE(plan.offsets[a] + buffers[a].bytes <= plan.offsets[b] ||
                  plan.offsets[b] + buffers[b].bytes <= plan.offsets[a])
          << a << " and " << b << " overlap";
    }
  }
}

TEST(MemoryPlanner, ChainReusesTwoBuffers) {
  std::vector<BufferLife> chain;
  for (int i = 0; i < 10; ++i) chain.push_back({1024, StepIndex(i), StepIndex(i + 1)});
  const MemoryPlan plan = plan_memory(chain);
  EXPECT_EQ(plan.arena_bytes, 2048u);
  EXPECT_EQ(plan.lower_bound, 2048u);
  expect_sound(chain, plan);
}

TEST(MemoryPlanner, RandomLifetimesNeverOverlapAndStayNearTheBound) {
  const auto seed = static_cast<unsigned>(test_seed());
  std::mt19937 rng(seed);
  double sum = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<BufferLife> buffers;
    for (int i = 0; i < 200; ++i) {
      const int first = i + static_cast<int>(rng() % 3);
      buffers.push_back({rng() % 5000, StepIndex(first), StepIndex(first + static_cast<int>(rng() % 12))});
    }
    const MemoryPlan plan = plan_memory(buffers);
    expect_sound(buffers, plan);
    EXPECT_GE(plan.arena_bytes, plan.lower_bound);
    const double ratio = static_cast<double>(plan.arena_bytes) / static_cast<double>(plan.lower_bound);
    EXPECT_LE(ratio, 1.3);  // a single draw may have no plan at the bound at all
    sum += ratio;
    EXPECT_EQ(plan_memory(buffers).offsets, plan.offsets);  // the same every time
  }
  EXPECT_LE(sum / 50, 1.06);
}

// As networks are: a trunk, branches that join soon, a few tensors kept for long.
std::vector<BufferLife> network(int steps, std::mt19937* rng) {
  std::vector<BufferLife> buffers;
  for (int i = 0; i < steps; ++i) {
    const int kept = (*rng)() % 50 == 0 ? 40 + static_cast<int>((*rng)() % 200) : 1 + static_cast<int>((*rng)() % 4);
    buffers.push_back({size_t{64} << ((*rng)() % 10), StepIndex(i), StepIndex(std::min(steps, i + kept))});
  }
  return buffers;
}

TEST(MemoryPlanner, NetworksStayWithinFivePercentOfTheBound) {
  const auto seed = static_cast<unsigned>(test_seed());
  std::mt19937 rng(seed);
  double sum = 0;
  for (int round = 0; round < 40; ++round) {
    const std::vector<BufferLife> buffers = network(300, &rng);
    const MemoryPlan plan = plan_memory(buffers);
    expect_sound(buffers, plan);
    const double ratio = static_cast<double>(plan.arena_bytes) / static_cast<double>(plan.lower_bound);
    EXPECT_LE(ratio, 1.3);  // a single draw may have no plan at the bound at all
    sum += ratio;
  }
  EXPECT_LE(sum / 40, 1.05);
}

// Under a sanitizer a time says nothing.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kTensors = 2000;
#else
constexpr int kTensors = 20000;
#endif
constexpr double kMostSeconds = 3;  // of the processor: ten times what it takes at most on a quiet machine

TEST(MemoryPlanner, TwentyThousandTensorsTakeLittleTime) {
  const auto seed = static_cast<unsigned>(test_seed());
  std::mt19937 rng(seed);
  const std::vector<BufferLife> usual = network(kTensors, &rng);
  std::vector<BufferLife> all_at_once, anyhow;
  for (int i = 0; i < kTensors; ++i) {
    all_at_once.push_back({1 + rng() % 5000, 0_step, StepIndex(kTensors)});
    const int first = static_cast<int>(rng() % kTensors);
    anyhow.push_back({1 + rng() % 5000, StepIndex(first), StepIndex(first + static_cast<int>(rng() % kTensors))});
  }
  for (const std::vector<BufferLife>* buffers : {&usual, &std::as_const(all_at_once), &std::as_const(anyhow)}) {
    const std::clock_t start = std::clock();
    const MemoryPlan plan = plan_memory(*buffers);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, kMostSeconds);
    EXPECT_LE(static_cast<double>(plan.arena_bytes), 1.1 * static_cast<double>(plan.lower_bound));
  }
}

TEST(MemoryPlanner, WhatNoMachineHasIsNoSmallArena) {
  const std::vector<BufferLife> huge(9, BufferLife{size_t{1} << 61, 0_step, 1_step});  // wraps around 2^64
  EXPECT_EQ(plan_memory(huge).arena_bytes, kMostArenaBytes);
  const std::vector<BufferLife> all{{SIZE_MAX, 0_step, 1_step}, {64, 0_step, 1_step}};
  EXPECT_EQ(plan_memory(all).arena_bytes, kMostArenaBytes);
}

TEST(MemoryPlanner, EmptyAndZeroSized) {
  EXPECT_EQ(plan_memory({}).arena_bytes, 0u);
  const std::vector<BufferLife> none{{0, 0_step, 5_step}, {0, 1_step, 2_step}};
  EXPECT_EQ(plan_memory(none).arena_bytes, 0u);
}

}  // namespace
}  // namespace wootz
