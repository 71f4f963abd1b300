// Candidates that are chosen without being measured are run, and the wrong ones dropped.
#include "tuner/measure/prove.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tuner/choose.h"
#include "tuner/measure/agreement.h"
#include "tuner/measure/measure_testing.h"
#include "tuner/measure/problem_class.h"

namespace wootz {
namespace {

using namespace measure_testing;  // NOLINT: what this file is about

// What is chosen by its provider's estimate, which prefers the first of these, is run against the reference first.
struct Estimated {
  explicit Estimated(std::vector<Behavior> behaviors, size_t layers = 1)
      : fixture(std::move(behaviors)), program(network_of(fixture.problem)) {
    for (size_t s = 1; s < layers; ++s) program.steps.push_back(program.steps[0_step]);
  }
  void choose() {
    Measurer measurer(fixture.options);
    ChooseOptions options;
    options.warn = [&](const std::string& line) { warning += line + '\n'; };
    options.prove = [&](const Problem& problem, StepIndex s, EvaluatedCandidate* c) {
      return measurer.prove(problem, s, c);
    };
    Result<Choice> made = choose_tactics(&program, {&fixture.provider}, options);
    status = made.status();
    if (made.ok()) choice = std::move(made).value();
    fixture.stats = measurer.stats();
  }
  Fixture fixture;
  Program program;
  Choice choice;
  Status status;
  std::string warning;
};

TEST(Prove, AWrongEstimateIsDroppedByNameAndTheNextTaken) {
  Estimated e(
      {{"wrong", 10, Behavior::kWrong}, {"nan", 10, Behavior::kNan}, {"fails", 10, Behavior::kFails}, {"right", 50}});
  e.choose();
  ASSERT_TRUE(e.status.ok()) << e.status.to_string();
  EXPECT_EQ(e.program.steps[0_step].tactic.kernel, "right");
  EXPECT_LT(e.program.steps[0_step].measured_us, 0);  // run, not timed
  for (const char* name : {"fake:wrong", "fake:nan", "fake:fails"})
    EXPECT_NE(e.warning.find(std::string("layer 'layer': ") + name), std::string::npos) << e.warning;
  EXPECT_NE(e.warning.find("differs from the reference"), std::string::npos) << e.warning;
  EXPECT_NE(e.warning.find("without being measured"), std::string::npos) << e.warning;
  EXPECT_EQ(e.warning.find("fake:right"), std::string::npos) << e.warning;
  EXPECT_EQ(e.choice.proved, 4u);
  EXPECT_EQ(e.choice.disproved, 3u);
  EXPECT_GE(e.choice.steps[0_step].evaluated[3].error, 0);
  EXPECT_EQ(e.fixture.device->live, 0);
}

TEST(Prove, EqualLayersAreRunOnce) {
  Estimated e({{"wrong", 10, Behavior::kWrong}, {"right", 50}}, 5);
  e.choose();
  ASSERT_TRUE(e.status.ok()) << e.status.to_string();
  EXPECT_EQ(e.choice.proved, 2u);
  for (const StepIndex s : e.program.steps.indices()) {
    EXPECT_EQ(e.program.steps[s].tactic.kernel, "right");
    EXPECT_NE(e.choice.steps[s].evaluated[0].refusal, "");
    EXPECT_GE(e.choice.steps[s].evaluated[1].error, 0);
  }
}

// Problems that differ in numbers only are timed once; each choice is proven with its own numbers.
TEST(Prove, ProblemsOfOneClassAreTimedOnce) {
  Estimated e({{"right", 50}, {"faster", 40}}, 4);
  for (const StepIndex s : e.program.steps.indices())
    e.program.steps[s].problem.as<NormParams>().epsilon = 0.5 + 0.125 * s.number();
  Measurer measurer(e.fixture.options);
  ChooseOptions options;
  options.by_class = true;
  options.cost = measurer.as_cost();
  options.prove = [&](const Problem& problem, StepIndex s, EvaluatedCandidate* c) {
    return measurer.prove(problem, s, c);
  };
  const Result<Choice> choice = choose_tactics(&e.program, {&e.fixture.provider}, options);
  ASSERT_TRUE(choice.ok()) << choice.status().to_string();
  EXPECT_EQ(measurer.stats().timed, 2u);
  EXPECT_EQ(choice->proved, 3u);
  for (const StepIndex s : e.program.steps.indices()) EXPECT_EQ(e.program.steps[s].tactic.kernel, "faster");
}

TEST(ProblemClass, KeepsWhatKernelsTreatApart) {
  Problem a = Estimated({{"right", 50}}).fixture.problem, b = a;
  a.as<NormParams>().epsilon = 0.5, b.as<NormParams>().epsilon = 0.75;
  EXPECT_EQ(class_key(a), class_key(b));
  for (const double apart : {0.0, 1.0, -0.5}) {
    b.as<NormParams>().epsilon = apart;
    EXPECT_NE(class_key(a), class_key(b)) << apart;
  }
  b = a;
  b.outputs[0].dims[0] += 1;
  EXPECT_NE(class_key(a), class_key(b));
}

TEST(Prove, TheOnlyCandidateIsRunToo) {
  Estimated right({{"only", 50}}), wrong({{"only", 50, Behavior::kWrong}});
  right.choose();
  EXPECT_TRUE(right.status.ok()) << right.status.to_string();
  EXPECT_EQ(right.choice.proved, 1u);
  wrong.choose();
  ASSERT_FALSE(wrong.status.ok());
  EXPECT_NE(wrong.status.message().find("layer 'layer'"), std::string::npos) << wrong.status.message();
  EXPECT_NE(wrong.status.message().find("fake:only: output 0 differs"), std::string::npos) << wrong.status.message();
}

// What only shows at the layer's own extents is found there, by a look for what is no number.
TEST(Prove, TheOptimumIsRunAsWell) {
  Estimated e({{"only whole", 10, Behavior::kFailsOnWhole}, {"right", 50}});
  e.choose();
  ASSERT_TRUE(e.status.ok()) << e.status.to_string();
  EXPECT_EQ(e.program.steps[0_step].tactic.kernel, "right");
}

TEST(Prove, WithoutReferenceOrMemoryNothingIsRefused) {
  Estimated blind({{"wrong", 10, Behavior::kWrong}, {"right", 50}});
  blind.fixture.options.reference = nullptr;
  blind.choose();
  EXPECT_EQ(blind.program.steps[0_step].tactic.kernel, "wrong");
  EXPECT_EQ(blind.fixture.provider.created, 1);  // and nothing ran
  EXPECT_EQ(blind.fixture.clock.us, 0);
  Estimated full({{"right", 10}, {"other", 50}});
  full.fixture.device->room = 1000;
  full.choose();
  ASSERT_TRUE(full.status.ok()) << full.status.to_string();
  EXPECT_EQ(full.program.steps[0_step].tactic.kernel, "right");
  EXPECT_EQ(full.warning, "");
}

// What is rounded before a floor may fall on either side of it, once in a while; a wrong kernel is wrong more often.
TEST(Prove, AFewJumpsAreNoVerdict) {
  Problem p;
  p.set_family(Family::kPointwise);
  const uint16_t x = p.epilogue.input(0, DType::kF32), e = p.epilogue.push(PwOp::kExp, DType::kF32, x);
  p.epilogue.outputs = {e};
  EXPECT_FALSE(may_jump(p));
  p.epilogue.outputs = {p.epilogue.push(PwOp::kFloor, DType::kF32, e)};
  EXPECT_TRUE(may_jump(p));
  CheckCase expected;
  expected.expected = {HostTensor::allocate(DType::kF32, Dims{64, 100}).value()};
  HostTensor actual = HostTensor::allocate(DType::kF32, Dims{64, 100}).value();
  for (int64_t i = 0; i < 6400; ++i) {
    expected.expected[0].set_f64(i, static_cast<double>(i % 7));
    actual.set_f64(i, static_cast<double>(i % 7));
  }
  p.inputs = p.outputs = {{DType::kF32, Layout::kLinear, Dims{64, 100}, Dims{64, 100}, false}};
  double error = 0;
  for (int64_t i = 0; i < 6; ++i) actual.set_f64(i * 1000, actual.get_f64(i * 1000) + 1);
  EXPECT_EQ(disagreement(p, expected, {actual}, &error, 0, 1e-3), "");
  EXPECT_NE(disagreement(p, expected, {actual}, &error, 0, 0), "");
  actual.set_f64(17, std::nan(""));
  EXPECT_NE(disagreement(p, expected, {actual}, &error, 0, 1e-3), "");  // seven
}

// The mean of what was normalized is rounding and nothing else; other numbers are still wrong.
TEST(Prove, TermsThatCancelAreNoVerdict) {
  Problem p;
  p.set_family(Family::kPool);
  p.as<PoolParams>().kind = PoolKind::kAvg;
  p.inputs = {{DType::kF32, Layout::kLinear, Dims{1, 1, 2, 2}, Dims{1, 1, 2, 2}, false}};
  p.outputs = {{DType::kF32, Layout::kLinear, Dims{1, 1, 1, 1}, Dims{1, 1, 1, 1}, false}};
  p.num_main = 1;
  const auto tensor = [](std::vector<float> values, Dims dims) { return HostTensor::from<float>(values, dims); };
  CheckCase expected;
  expected.inputs = {tensor({1.25f, -1.25f, 0.75f, -0.75f}, Dims{1, 1, 2, 2})};
  expected.expected = {tensor({1.5e-8f}, Dims{1, 1, 1, 1})};
  double error = 0;
  EXPECT_EQ(disagreement(p, expected, {tensor({-3e-8f}, Dims{1, 1, 1, 1})}, &error), "");
  EXPECT_NE(disagreement(p, expected, {tensor({1e-3f}, Dims{1, 1, 1, 1})}, &error), "");
}

// Rows whose mean is large against their spread: what subtracting it leaves of rounding is divided by that spread.
TEST(Prove, TheMeanOfWhatIsNormalizedCancels) {
  Problem p;
  p.set_family(Family::kNorm);
  p.as<NormParams>().axis = 1;
  p.inputs = p.outputs = {{DType::kF32, Layout::kLinear, Dims{1, 4}, Dims{1, 4}, false}};
  p.num_main = 1;
  const auto row = [](std::vector<float> values) { return HostTensor::from<float>(values, Dims{1, 4}); };
  CheckCase expected;
  expected.inputs = {row({1000.5f, 999.5f, 1000.5f, 999.5f})};
  expected.expected = {row({1, -1, 1, -1})};
  double error = 0;
  EXPECT_EQ(disagreement(p, expected, {row({1.0003f, -0.9997f, 1.0003f, -0.9997f})}, &error), "");
  EXPECT_NE(disagreement(p, expected, {row({1.03f, -0.97f, 1.03f, -0.97f})}, &error), "");
  p.as<NormParams>().kind = NormKind::kRms;  // subtracts nothing
  EXPECT_NE(disagreement(p, expected, {row({1.0003f, -0.9997f, 1.0003f, -0.9997f})}, &error), "");
}

}  // namespace
}  // namespace wootz
