#include "tuner/measure/measure.h"

#include <gtest/gtest.h>

#include "tuner/choose.h"
#include "tuner/measure/measure_testing.h"

namespace wootz {
namespace {

using namespace measure_testing;  // NOLINT: what this file is about

TEST(Measure, TimesWhatIsRightAndRefusesWhatIsNot) {
  Fixture f({{"right", 50},
             {"wrong", 10, Behavior::kWrong},
             {"nan", 5, Behavior::kNan},
             {"fails", 1, Behavior::kFails},
             {"slow", 5000}});
  const std::vector<EvaluatedCandidate> c = f.measure();
  ASSERT_EQ(c.size(), 5u);
  EXPECT_TRUE(c[0].measured);
  EXPECT_NEAR(c[0].us, 50, 1e-6);
  EXPECT_EQ(c[0].refusal, "");
  EXPECT_GE(c[0].error, 0);
  EXPECT_LT(c[0].error, 1e-5);
  EXPECT_NE(c[1].refusal.find("differs from the reference"), std::string::npos) << c[1].refusal;
  EXPECT_NE(c[1].refusal.find("0.25"), std::string::npos) << c[1].refusal;
  EXPECT_NE(c[1].refusal.find("element 3"), std::string::npos) << c[1].refusal;
  EXPECT_FALSE(c[1].measured);
  EXPECT_NE(c[2].refusal.find("NaN"), std::string::npos) << c[2].refusal;
  EXPECT_NE(c[3].refusal.find("out of order"), std::string::npos) << c[3].refusal;
  EXPECT_NEAR(c[4].us, 5000, 1e-6);
  EXPECT_EQ(f.stats.timed, 2u);
  EXPECT_EQ(f.stats.refused, 3u);
  EXPECT_EQ(f.device->live, 0);
}

TEST(Measure, TheReferenceSeesSmallCases) {
  Fixture f({{"a", 50}, {"b", 60}});
  f.measure();
  EXPECT_EQ(f.references, 1);  // shared by the candidates
  EXPECT_LT(f.largest, kRows * kColumns);
  EXPECT_GT(f.largest, 0);
}

TEST(Measure, AVerdictOnASmallCaseIsConfirmedOnTheWhole) {
  Fixture f({{"a", 50}, {"fixed", 60, Behavior::kWrongWhenSmall}, {"unbound", 70, Behavior::kOnlyWhole}});
  const std::vector<EvaluatedCandidate> c = f.measure();
  EXPECT_EQ(c[1].refusal, "");
  EXPECT_GE(c[1].error, 0);
  EXPECT_EQ(c[2].refusal, "");
  EXPECT_GE(c[2].error, 0);
  EXPECT_EQ(f.largest, kRows * kColumns);
  EXPECT_EQ(f.references, 2);
  // Too expensive to check on the whole: timed all the same, and counted.
  Fixture g({{"a", 50}, {"unbound", 70, Behavior::kOnlyWhole}});
  g.options.check_work = 1e6;
  const std::vector<EvaluatedCandidate> d = g.measure();
  EXPECT_TRUE(d[1].measured);
  EXPECT_EQ(d[1].error, -1);
  EXPECT_EQ(g.stats.unchecked, 1u);
  EXPECT_LT(g.largest, kRows * kColumns);
}

// A small case says nothing of what goes wrong at larger extents; what others make of the whole problem does.
TEST(Measure, RivalsAreHeldAgainstEachOtherOnTheWhole) {
  Fixture f({{"a", 50},
             {"wrong", 10, Behavior::kWrongOnWhole},
             {"unbound", 70, Behavior::kOnlyWhole},
             {"nan", 5, Behavior::kNan},
             {"b", 40}});
  f.options.against_rivals = true;
  const std::vector<EvaluatedCandidate> c = f.measure();
  ASSERT_EQ(c.size(), 5u);
  EXPECT_NE(c[1].refusal.find("element 3"), std::string::npos) << c[1].refusal;
  EXPECT_NE(c[3].refusal.find("NaN"), std::string::npos) << c[3].refusal;
  for (const size_t right : {0, 2, 4}) {
    EXPECT_EQ(c[right].refusal, "");
    EXPECT_GE(c[right].error, 0) << right;
    EXPECT_TRUE(c[right].measured);
    EXPECT_EQ(c[right].disproves, "");
  }
  EXPECT_EQ(f.stats.unchecked, 0u);
  EXPECT_EQ(f.device->live, 0);
}

TEST(Measure, OneThatStoodTheCheckCanBeDisproved) {
  Fixture f({{"wrong", 10, Behavior::kWrongOnWhole}, {"right", 50}, {"slower", 60}});
  f.options.against_rivals = true;
  std::vector<EvaluatedCandidate> c = f.measure();
  EXPECT_EQ(c[0].refusal, "");  // as far as was known then
  EXPECT_EQ(c[1].refusal, "");
  EXPECT_NE(c[1].disproves.find("wrong"), std::string::npos) << c[1].disproves;
  EXPECT_NE(c[1].disproof.find("element 3"), std::string::npos) << c[1].disproof;
  EXPECT_EQ(c[2].disproves, "");
  c = f.measure();  // the cache knows it too
  EXPECT_NE(c[0].refusal.find("element 3"), std::string::npos) << c[0].refusal;

  Fixture again({{"wrong", 10, Behavior::kWrongOnWhole}, {"right", 50}, {"slower", 60}});
  again.options.against_rivals = true;
  Program p = network_of(again.problem);
  Measurer measurer(again.options);
  ChooseOptions choose;
  choose.cost = measurer.as_cost();
  ASSERT_TRUE(choose_tactics(&p, {&again.provider}, choose).ok());
  EXPECT_EQ(p.steps[0_step].tactic.kernel, "right");
}

// Where the reference would take too long, who was there first is believed.
TEST(Measure, ARivalThatDiffersIsRefusedWhereNobodyCanTell) {
  Fixture f({{"a", 50}, {"wrong", 10, Behavior::kWrongOnWhole}});
  f.options.against_rivals = true;
  f.options.check_work = 5e5;
  const std::vector<EvaluatedCandidate> c = f.measure();
  EXPECT_NE(c[1].refusal.find("not as a"), std::string::npos) << c[1].refusal;
}

TEST(Measure, WithoutReferenceNothingIsChecked) {
  Fixture f({{"a", 50}, {"wrong", 10, Behavior::kWrong}});
  f.options.reference = nullptr;
  const std::vector<EvaluatedCandidate> c = f.measure();
  EXPECT_TRUE(c[1].measured);
  EXPECT_EQ(c[1].error, -1);
}

TEST(Measure, ASecondTimeComesFromTheCache) {
  Fixture f({{"a", 50}, {"wrong", 10, Behavior::kWrong}, {"b", 60}});
  const std::vector<EvaluatedCandidate> first = f.measure();
  const int created = f.provider.created;
  const double time = f.clock.us;
  const auto copy = TimingCache::deserialize(f.cache.serialize());
  ASSERT_TRUE(copy.ok());
  f.options.cache = copy->get();
  f.options.error_on_miss = true;
  const std::vector<EvaluatedCandidate> second = f.measure();
  ASSERT_EQ(second.size(), 3u) << f.status.to_string();
  EXPECT_EQ(f.provider.created, created);
  EXPECT_EQ(f.clock.us, time);
  EXPECT_EQ(f.stats.from_cache, 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(second[i].us, first[i].us);
    EXPECT_EQ(second[i].measured, first[i].measured);
    EXPECT_EQ(second[i].refusal, first[i].refusal);
    EXPECT_EQ(second[i].error, first[i].error);
  }
}

// Scales and the like do not change how long a kernel takes: where choices are proven, one of a class is measured for
// all.
TEST(Measure, ForAClassOfProblemsTheCacheIsFilledOnce) {
  const auto from_cache = [](Fixture* f, bool by_class, double epsilon) {
    f->options.by_class = by_class;
    f->problem.params = NormParams{.epsilon = epsilon};
    f->measure();
    return f->stats.from_cache;
  };
  Fixture f({{"a", 50}, {"b", 60}});
  EXPECT_EQ(from_cache(&f, true, 1e-5), 0u);
  EXPECT_EQ(from_cache(&f, true, 3e-6), 2u);
  EXPECT_EQ(from_cache(&f, true, 0), 0u) << "kernels may treat zeros apart";
  EXPECT_EQ(from_cache(&f, false, 1e-5), 0u);
  EXPECT_EQ(f.cache.size(), 6u);
  Fixture before({{"a", 50}, {"b", 60}});  // a cache of the very problem
  EXPECT_EQ(from_cache(&before, false, 1e-5), 0u);
  EXPECT_EQ(from_cache(&before, true, 1e-5), 2u);
}

TEST(Measure, AMissCanBeAnError) {
  Fixture f({{"a", 50}, {"b", 60}});
  f.options.error_on_miss = true;
  f.measure();
  EXPECT_EQ(f.status.code(), Code::kInvalidState);
  EXPECT_NE(f.status.message().find("fake:a"), std::string::npos) << f.status.message();
}

TEST(Measure, APinnedTacticIsTheOnlyOne) {
  Fixture f({{"a", 50}, {"b", 60, Behavior::kRight, Layout::kChannelsLast}});
  f.measure();
  const auto ids = f.cache.problems();
  ASSERT_EQ(ids.size(), 1u);  // layouts do not make another problem
  const TimingCache::Best fast = *f.cache.best(ids[0]);
  EXPECT_NEAR(fast.us, 50, 1e-6);
  for (const auto& [key, timing] : f.cache.entries())
    if (timing.median_us > 55) {
      TimingCache only(f.device->describe());
      ASSERT_TRUE(only.update(key, timing).ok());
      ASSERT_TRUE(f.cache.pin(ids[0], only.best(only.problems()[0])->tactic, 55).ok());
    }
  const std::vector<EvaluatedCandidate> c = f.measure();
  EXPECT_NE(c[0].refusal.find("pins"), std::string::npos);
  EXPECT_EQ(c[1].refusal, "");
  EXPECT_NEAR(c[1].us, 55, 1e-6);
}

TEST(Measure, ASingleCandidateIsLeftAlone) {
  Fixture f({{"only", 50, Behavior::kFails}});
  const std::vector<EvaluatedCandidate> c = f.measure();
  EXPECT_FALSE(c[0].measured);
  EXPECT_EQ(c[0].refusal, "");
  EXPECT_EQ(c[0].us, 1000);
  EXPECT_EQ(f.provider.created, 0);
}

TEST(Measure, TheBudgetEndsBetweenSteps) {
  Fixture f({{"a", 50}, {"b", 60}});
  f.options.cache = nullptr;
  f.options.budget_us = 100;  // spent by the first step
  const std::vector<EvaluatedCandidate> c = f.measure(3);
  ASSERT_EQ(c.size(), 6u);
  EXPECT_TRUE(c[0].measured && c[1].measured);
  for (size_t i = 2; i < 6; ++i) {
    EXPECT_FALSE(c[i].measured);
    EXPECT_EQ(c[i].us, 1000);
  }
  EXPECT_EQ(f.stats.over_budget, 4u);
}

TEST(Measure, RealConstantsAreAskedFor) {
  Fixture f({{"a", 50}, {"b", 60}});
  f.options.constants = [&](StepIndex step, size_t input) -> Result<HostTensor> {
    EXPECT_EQ(step, 0_step);
    EXPECT_EQ(input, 1u);
    return HostTensor::allocate(DType::kF32, f.problem.inputs[1].dims);
  };
  EXPECT_EQ(f.measure()[0].refusal, "");
  f.options.constants = [](StepIndex, size_t) -> Result<HostTensor> { return HostTensor::scalar(1.0f); };
  f.cache.reset();
  EXPECT_NE(f.measure()[0].refusal, "");  // not of the described shape
}

TEST(Measure, ChoosesTheFastestRightOne) {
  Fixture f({{"right", 50}, {"wrong", 10, Behavior::kWrong}, {"faster", 40}});
  Program p = network_of(f.problem);
  Measurer measurer(f.options);
  ChooseOptions choose;
  choose.cost = measurer.as_cost();
  const Result<Choice> choice = choose_tactics(&p, {&f.provider}, choose);
  ASSERT_TRUE(choice.ok()) << choice.status().to_string();
  EXPECT_EQ(p.steps[0_step].tactic.kernel, "faster");
  EXPECT_NEAR(p.steps[0_step].measured_us, 40, 1e-3);
}

// What the cache recommends is run before it is relied on.
TEST(Measure, WhatTheCacheKnowsAndFailsIsReplaced) {
  Fixture before({{"right", 50}, {"faster", 40}});
  before.measure();
  Fixture f({{"right", 50}, {"faster", 40, Behavior::kFails}});
  f.options.cache = &before.cache;
  Measurer measurer(f.options);
  ChooseOptions choose;
  choose.cost = measurer.as_cost();
  Program unproved = network_of(f.problem);
  ASSERT_TRUE(choose_tactics(&unproved, {&f.provider}, choose).ok());
  EXPECT_EQ(unproved.steps[0_step].tactic.kernel, "faster");
  std::string warning;
  choose.warn = [&](const std::string& line) { warning += line; };
  choose.prove = [&](const Problem& problem, StepIndex s, EvaluatedCandidate* c) {
    return measurer.prove(problem, s, c);
  };
  Program p = network_of(f.problem);
  const Result<Choice> choice = choose_tactics(&p, {&f.provider}, choose);
  ASSERT_TRUE(choice.ok()) << choice.status().to_string();
  EXPECT_EQ(p.steps[0_step].tactic.kernel, "right");
  EXPECT_NE(warning.find("layer 'layer'"), std::string::npos) << warning;
  EXPECT_NE(warning.find("out of order"), std::string::npos) << warning;
}

}  // namespace
}  // namespace wootz
