#include "backends/cuda/jit/compiler.h"

#include <gtest/gtest.h>

#include <atomic>

#include "backends/cuda/jit/code_store.h"
#include "base/tasks.h"

namespace wootz::cuda {
namespace {

std::string source_of(size_t i) {
  return fmt::format("extern \"C\" __global__ void wootz_kernel(float* y) {{ y[threadIdx.x] = {}.5f; }}", i);
}

// What several threads ask for at once, some of it the same, is what one gets.
TEST(Compiler, CompilesOnSeveralThreads) {
  if (const auto version = compiler_version(); !version.ok()) GTEST_SKIP() << version.status().to_string();
  constexpr size_t kSources = 4;
  const KeptCodeScope none(false);
  std::vector<std::vector<char>> alone;
  for (size_t i = 0; i < kSources; ++i) {
    Result<std::vector<char>> code = compile_cuda(source_of(i), "sm_90");
    ASSERT_TRUE(code.ok()) << code.status().to_string();
    alone.push_back(std::move(*code));
  }
  EXPECT_NE(alone[0], alone[1]);
  for (const bool held : {false, true}) {
    const std::shared_ptr<const void> holds = held ? hold_compiled() : nullptr;
    std::atomic<int> wrong{0};
    run_tasks(3 * kSources, 4, [&](size_t i) {
      const KeptCodeScope unkept(false);
      const Result<std::vector<char>> code = compile_cuda(source_of(i % kSources), "sm_90");
      wrong += !code.ok() || *code != alone[i % kSources];
    });
    EXPECT_EQ(wrong, 0) << (held ? "held" : "not held");
  }
}

TEST(Compiler, WhatIsRefusedIsRefusedAgainWithTheCompilersWords) {
  if (const auto version = compiler_version(); !version.ok()) GTEST_SKIP() << version.status().to_string();
  const std::shared_ptr<const void> holds = hold_compiled();
  for (int again = 0; again < 2; ++again) {
    const Result<std::vector<char>> code = compile_cuda("no kernel", "sm_90");
    ASSERT_FALSE(code.ok());
    EXPECT_NE(code.status().message().find("wootz.cu(1)"), std::string::npos) << code.status().to_string();
  }
}

// Held by several: until the last lets go.
TEST(Compiler, HoldsAreShared) {
  const std::shared_ptr<const void> first = hold_compiled();
  std::shared_ptr<const void> second = hold_compiled();
  EXPECT_EQ(first, second);
  second.reset();
  EXPECT_EQ(first, hold_compiled());
}

}  // namespace
}  // namespace wootz::cuda
