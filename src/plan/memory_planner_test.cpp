#include "plan/memory_planner.h"

#include <gtest/gtest.h>

#include <random>

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
  for (int i = 0; i < 10; ++i) chain.push_back({1024, i, i + 1});
  const MemoryPlan plan = plan_memory(chain);
  EXPECT_EQ(plan.arena_bytes, 2048u);
  EXPECT_EQ(plan.lower_bound, 2048u);
  expect_sound(chain, plan);
}

TEST(MemoryPlanner, RandomLivesNeverOverlapAndStayNearTheBound) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 rng(seed);
  for (int round = 0; round < 50; ++round) {
    std::vector<BufferLife> buffers;
    for (int i = 0; i < 200; ++i) {
      const int first = i + static_cast<int>(rng() % 3);
      buffers.push_back({rng() % 5000, first, first + static_cast<int>(rng() % 12)});
    }
    const MemoryPlan plan = plan_memory(buffers);
    expect_sound(buffers, plan);
    EXPECT_GE(plan.arena_bytes, plan.lower_bound);
    EXPECT_LE(static_cast<double>(plan.arena_bytes), 1.5 * static_cast<double>(plan.lower_bound));
  }
}

TEST(MemoryPlanner, WhatNoMachineHasIsNoSmallArena) {
  const std::vector<BufferLife> huge(9, BufferLife{size_t{1} << 61, 0, 1});  // wraps around 2^64
  EXPECT_EQ(plan_memory(huge).arena_bytes, kMostArenaBytes);
  const std::vector<BufferLife> all{{SIZE_MAX, 0, 1}, {64, 0, 1}};
  EXPECT_EQ(plan_memory(all).arena_bytes, kMostArenaBytes);
}

TEST(MemoryPlanner, EmptyAndZeroSized) {
  EXPECT_EQ(plan_memory({}).arena_bytes, 0u);
  const std::vector<BufferLife> none{{0, 0, 5}, {0, 1, 2}};
  EXPECT_EQ(plan_memory(none).arena_bytes, 0u);
}

}  // namespace
}  // namespace wootz
