// What a measurement refuses for the sake of the build's settings, whatever its time.
#include <gtest/gtest.h>

#include "tuner/choose.h"
#include "tuner/measure/measure_testing.h"

namespace wootz {
namespace {

using namespace measure_testing;  // NOLINT: what this file is about

Behavior with_shared(const char* kernel, double us, std::optional<size_t> bytes) {
  Behavior b{kernel, us};
  b.shared = bytes;
  return b;
}

TEST(MeasureLimits, SharedMemoryOverTheLimitIsNotRun) {
  Fixture f({with_shared("little", 50, 1000), with_shared("much", 10, 1001), with_shared("untold", 20, std::nullopt)});
  std::vector<EvaluatedCandidate> c = f.measure();  // the cache knows all times
  for (const EvaluatedCandidate& e : c) EXPECT_EQ(e.refusal, "");
  f.options.shared_memory = 1000;
  c = f.measure();
  EXPECT_TRUE(c[0].measured);
  EXPECT_FALSE(c[0].over_limit);
  EXPECT_TRUE(c[1].over_limit);
  EXPECT_NE(c[1].refusal.find("needs 1001 bytes of shared memory, the limit is 1000"), std::string::npos)
      << c[1].refusal;
  EXPECT_TRUE(c[2].over_limit);
  EXPECT_NE(c[2].refusal.find("does not tell"), std::string::npos) << c[2].refusal;
  EXPECT_EQ(f.device->live, 0);
}

// A candidate without rivals is held to it as well.
TEST(MeasureLimits, TheOnlyCandidateIsHeldToTheLimit) {
  Fixture f({with_shared("much", 10, 2000)});
  f.options.shared_memory = 1000;
  const std::vector<EvaluatedCandidate> c = f.measure();
  EXPECT_TRUE(c[0].over_limit);
}

TEST(MeasureLimits, ResultsThatDependOnTheirPlaceAreRefused) {
  Behavior by_place{"by_place", 10};
  by_place.by_place = true;
  Fixture f({{"even", 50}, by_place});
  f.problem.set_family(Family::kGemm);  // y = 2 x + w0: equal rows of x give equal rows
  f.options.reference = nullptr;
  std::vector<EvaluatedCandidate> c = f.measure();
  EXPECT_EQ(c[1].refusal, "");
  f.options.independent_places = true;
  c = f.measure();
  EXPECT_EQ(c[0].refusal, "");
  EXPECT_NE(c[1].refusal.find("results depend on their place"), std::string::npos) << c[1].refusal;
  EXPECT_EQ(f.device->live, 0);
}

TEST(MeasureLimits, PinsOfTheCacheCountWhereTheyAreObeyed) {
  Fixture f({{"fast", 10}, {"slow", 50}});
  f.measure();
  const std::vector<TimingCache::ProblemId> problems = f.cache.problems();
  ASSERT_EQ(problems.size(), 1u);
  for (const auto& [key, timing] : f.cache.entries()) {
    Timing pinned = timing;
    pinned.pinned = key.tactic.starts_with("slow");
    ASSERT_TRUE(f.cache.update(key, pinned).ok());
  }
  f.options.obey_pins = false;
  EXPECT_EQ(f.measure()[0].refusal, "");
  f.options.obey_pins = true;
  EXPECT_NE(f.measure()[0].refusal.find("pins"), std::string::npos);
}

// A fault of a kernel that is waited for ends the build; otherwise the kernel is only refused.
TEST(MeasureLimits, AFaultEndsTheBuildWhereEachIsWaitedFor) {
  Fixture f({{"fails", 1, Behavior::kFailsOnWhole}, {"right", 50}});
  f.options.reference = nullptr;
  EXPECT_EQ(f.measure().size(), 2u);
  EXPECT_TRUE(f.status.ok());
  f.options.wait_each = true;
  f.cache.reset();
  f.measure();
  EXPECT_FALSE(f.status.ok());
  EXPECT_NE(f.status.to_string().find("tactic fake:fails fails when it is run"), std::string::npos)
      << f.status.to_string();
  EXPECT_EQ(f.device->live, 0);
}

// Which memory a tactic has while it is timed: operands, results, workspace.
TEST(MeasureLimits, OperandsOverTheLimitAreSkipped) {
  Fixture f({{"a", 10}});
  const size_t bytes = (2 * kRows * kColumns + 64000) * sizeof(float);
  Program p = network_of(f.problem);
  ChooseOptions choose;
  choose.operand_memory = bytes;
  EXPECT_TRUE(choose_tactics(&p, {&f.provider}, choose).ok());
  p = network_of(f.problem);
  choose.operand_memory = bytes - 1;
  const auto refused = choose_tactics(&p, {&f.provider}, choose);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().to_string().find(std::to_string(bytes)), std::string::npos)
      << refused.status().to_string();
}

TEST(MeasureLimits, LastResortsAreTakenWhereThereIsNoOther) {
  Fixture f({{"first", 10}, {"second", 20}});
  ChooseOptions choose;
  choose.last_resort = [](const Problem&, const Candidate& c) { return c.tactic.kernel == "first"; };
  Program p = network_of(f.problem);
  ASSERT_TRUE(choose_tactics(&p, {&f.provider}, choose).ok());
  EXPECT_EQ(p.steps[0_step].tactic.kernel, "second");
  choose.last_resort = [](const Problem&, const Candidate&) { return true; };
  p = network_of(f.problem);
  EXPECT_TRUE(choose_tactics(&p, {&f.provider}, choose).ok());
}

}  // namespace
}  // namespace wootz
