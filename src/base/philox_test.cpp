#include "base/philox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/testing.h"

namespace wootz {
namespace {

using Words = std::array<uint32_t, 4>;

// The known answers that the authors publish with their implementation.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, KeysPlacesAndDrawsAllMatter) {
  const uint64_t seed = test_seed();
  const double here = RandomDraw(seed, 3, 5).uniform;
  EXPECT_EQ(here, RandomDraw(seed, 3, 5).uniform);
  EXPECT_NE(here, RandomDraw(seed + 1, 3, 5).uniform);
  EXPECT_NE(here, RandomDraw(seed ^ uint64_t{1} << 40, 3, 5).uniform);
  EXPECT_NE(here, RandomDraw(seed, 4, 5).uniform);
  EXPECT_NE(here, RandomDraw(seed, 3, 6).uniform);
  EXPECT_NE(here, RandomDraw(seed, 3, 5 | uint64_t{1} << 40).uniform);
}

// The largest distance between the distribution of the numbers and the one that they are drawn from (Kolmogorov and
// Smirnov), times the root of their count: 2.5 is passed once in 130 000 times.
double distance(std::vector<double> x, double (*distribution)(double)) {
  std::sort(x.begin(), x.end());
  const auto count = static_cast<double>(x.size());
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = distribution(x[i]);
    most = std::max({most, expected - static_cast<double>(i) / count, static_cast<double>(i + 1) / count - expected});
  }
  return most * std::sqrt(count);
}

TEST(Philox, DrawsHaveTheirDistributions) {
  const uint64_t seed = test_seed();
  for (const bool along_places : {true, false}) {
    std::vector<double> uniform, second, normal;
    for (uint64_t i = 0; i < 20000; ++i) {
      const RandomDraw draw = along_places ? RandomDraw(seed, 0, i) : RandomDraw(seed, i, 0);
      uniform.push_back(draw.uniform);
      second.push_back(draw.second);
      normal.push_back(draw.normal());
      ASSERT_TRUE(draw.uniform >= 0 && draw.uniform < 1);
    }
    const auto flat = [](double x) { return x; };
    EXPECT_LT(distance(uniform, flat), 2.5);
    EXPECT_LT(distance(second, flat), 2.5);
    EXPECT_LT(distance(normal, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.)); }), 2.5);
  }
}

TEST(Philox, FreshKeysDiffer) {
  std::set<int64_t> keys;
  for (int i = 0; i < 1000; ++i) keys.insert(fresh_random_key());
  EXPECT_EQ(keys.size(), 1000U);
}

}  // namespace
}  // namespace wootz
