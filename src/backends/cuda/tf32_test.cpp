#include "backends/cuda/tf32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "backends/cuda/workspace.h"

namespace wootz::cuda {
namespace {

TEST(Tf32, RoundsToTheNearestOfTenBits) {
  const uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 10000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    const float rounded = round_to_tf32(value);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(rounded));
      continue;
    }
    if (!std::isfinite(value) || std::abs(value) > 3.4e38f || std::abs(value) < 1e-37f) continue;
    EXPECT_EQ(std::bit_cast<uint32_t>(rounded) & 0x1fffu, 0u);
    EXPECT_LE(std::abs(rounded - value), std::ldexp(std::abs(value), -11)) << value;
    EXPECT_EQ(round_to_tf32(rounded), rounded);
  }
  const float infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
  EXPECT_EQ(round_to_tf32(infinity), infinity);
  EXPECT_EQ(round_to_tf32(-largest), -largest);  // to the nearest would be no number of the type
  EXPECT_EQ(round_to_tf32(1 + std::ldexp(1.0f, -11)), 1.0f);  // a tie goes to the even one
}

TEST(Workspace, LeavesWhatWasAskedForBehindTheAlignment) {
  alignas(256) static std::byte memory[1024];
  for (size_t start = 0; start < 512; start += 64) {
    for (const size_t bytes : {size_t{1}, size_t{200}}) {
      auto* const given = static_cast<std::byte*>(aligned_workspace(memory + start));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(given) % kWorkspaceAlignment, 0u);
      EXPECT_LE(given + bytes, memory + start + workspace_room(bytes));
    }
  }
  EXPECT_EQ(workspace_room(0), 0u);
}

}  // namespace
}  // namespace wootz::cuda
