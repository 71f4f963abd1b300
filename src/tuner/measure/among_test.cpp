// Measurer::between(): rivals timed among the steps around them.
#include <gtest/gtest.h>

#include "tuner/measure/measure.h"
#include "tuner/measure/measure_testing.h"

namespace wootz {
namespace {

using namespace measure_testing;  // NOLINT: what this file is about

struct Among : Fixture {
  explicit Among(std::vector<Behavior> behaviors) : Fixture(std::move(behaviors)) {}
  PlacedTactic placed(const char* kernel, size_t step) const {
    return {problem, StepIndex(step), {"fake", kernel, ""}};
  }
};

TEST(Between, ThreeStepsAreTimedTogetherAndRemembered) {
  Among f({{"a", 50}, {"b", 60}, {"c", 40}});
  const PlacedTactic before = f.placed("a", 0), after = f.placed("c", 2);
  const std::vector<PlacedTactic> rivals{f.placed("a", 1), f.placed("b", 1), f.placed("c", 1)};
  for (const bool again : {false, true}) {
    Measurer measurer(f.options);
    const int created = f.provider.created;
    const Result<std::vector<double>> us = measurer.between(&before, rivals, &after);
    ASSERT_TRUE(us.ok()) << us.status().to_string();
    ASSERT_EQ(us->size(), 3u);
    EXPECT_NEAR((*us)[0], 140, 1e-6);
    EXPECT_NEAR((*us)[1], 150, 1e-6);
    EXPECT_NEAR((*us)[2], 130, 1e-6);
    EXPECT_EQ(f.provider.created == created, again);
  }
  Measurer measurer(f.options);
  const Result<std::vector<double>> alone = measurer.between(nullptr, rivals, nullptr);  // another place
  ASSERT_TRUE(alone.ok());
  EXPECT_NEAR((*alone)[1], 60, 1e-6);
  EXPECT_EQ(f.device->live, 0);
}

TEST(Between, WhatFailsChangesNothingAndTimeIsLimited) {
  Among f({{"a", 50}, {"fails", 60, Behavior::kFails}});
  Measurer measurer(f.options);
  const std::vector<PlacedTactic> rivals{f.placed("a", 1), f.placed("fails", 1)};
  Result<std::vector<double>> us = measurer.between(nullptr, rivals, nullptr);
  ASSERT_TRUE(us.ok());
  EXPECT_EQ(*us, (std::vector<double>{0, 0}));
  Among slow({{"a", 1e5}, {"b", 1e5}});
  Measurer long_ago(slow.options);
  const PlacedTactic before = slow.placed("a", 0);
  const std::vector<PlacedTactic> both{slow.placed("a", 1), slow.placed("b", 1)};
  us = long_ago.between(nullptr, both, nullptr);
  ASSERT_TRUE(us.ok());
  EXPECT_EQ(us->size(), 2u);
  us = long_ago.between(&before, both, nullptr);
  ASSERT_TRUE(us.ok());
  EXPECT_TRUE(us->empty());
  // A build that is to know everything beforehand times nothing.
  f.options.error_on_miss = true;
  Measurer knowing(f.options);
  us = knowing.between(nullptr, {f.placed("a", 1), f.placed("a", 1)}, nullptr);
  ASSERT_TRUE(us.ok());
  EXPECT_TRUE(us->empty());
}

}  // namespace
}  // namespace wootz
