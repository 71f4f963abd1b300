#include "ir/dim_range.h"

#include <gtest/gtest.h>

#include <random>

#include "base/testing.h"

namespace wootz {
namespace {

const Dim kS = Dim::symbol(0), kT = Dim::symbol(1);

std::optional<DimRange> range(const Dim& d, DimRange s, DimRange t = {1, 1}) {
  return range_of(d, [&](SymbolId id) { return std::optional<DimRange>(id == 0 ? s : t); });
}

TEST(DimRange, EndsOfSimpleExpressions) {
  EXPECT_EQ(range(Dim(7), {0, 0}), (DimRange{7, 7}));
  EXPECT_EQ(range(kS * Dim(2) - Dim(1), {1, 5}), (DimRange{1, 9}));
  EXPECT_EQ(range(floor_div(kS + Dim(320), Dim(512)), {512, 512}), (DimRange{1, 1}));
  EXPECT_EQ(range(mod(kS, Dim(8)), {17, 22}), (DimRange{1, 6}));
  EXPECT_EQ(range(dim_max(kS, kT), {1, 5}, {3, 9}), (DimRange{3, 9}));
}

TEST(DimRange, UnknownSymbolsAndDivisorsAreUnknown) {
  EXPECT_EQ(range_of(kS, [](SymbolId) { return std::optional<DimRange>(); }), std::nullopt);
  EXPECT_EQ(range(floor_div(kT, kS), {0, 5}, {1, 9}), std::nullopt);
  EXPECT_EQ(range(kS * kS, {1, int64_t{1} << 40}), std::nullopt);  // beyond 64 bits
  EXPECT_EQ(range(kS, {5, 4}), std::nullopt);
}

// Every value that an expression takes is in its range.
TEST(DimRange, HoldsWhatIsTaken) {
  std::mt19937_64 random(test_seed());
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    std::vector<Dim> pool{kS, kT, Dim(pick(5)), Dim(pick(9) - 4)};
    for (int step = 0; step < 4; ++step) {
      const Dim a = pool[static_cast<size_t>(pick(static_cast<int>(pool.size())))];
      const Dim b = pool[static_cast<size_t>(pick(static_cast<int>(pool.size())))], k = Dim(1 + pick(6));
      const Dim made[] = {a + b,         a - b,           a * b,          dim_min(a, b),
                          dim_max(a, b), floor_div(a, k), ceil_div(a, k), mod(a, k)};
      pool.push_back(made[pick(8)]);
    }
    const DimRange s{pick(4), 4 + pick(4)}, t{1, 1 + pick(3)};
    const std::optional<DimRange> have = range(pool.back(), s, t);
    if (!have) continue;
    for (int64_t x = s.low; x <= s.high; ++x)
      for (int64_t y = t.low; y <= t.high; ++y) {
        const auto value = pool.back().evaluate([&](SymbolId id) { return std::optional<int64_t>(id == 0 ? x : y); });
        if (!value) continue;
        EXPECT_LE(have->low, *value) << pool.back().to_string() << " at " << x << ", " << y;
        EXPECT_GE(have->high, *value) << pool.back().to_string() << " at " << x << ", " << y;
      }
  }
}

}  // namespace
}  // namespace wootz
