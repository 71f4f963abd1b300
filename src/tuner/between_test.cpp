// Proposals that are passed over, and tactics chosen again among the steps around them.
#include "tuner/between.h"

#include <gtest/gtest.h>

#include "backend/index_literals.h"
#include "tuner/choose.h"

namespace wootz {
namespace {

// Two kernels of the host's own, and five proposals of a library's, in one layout.
class Several final : public Provider {
 public:
  const char* name() const override { return "several"; }
  std::string version() const override { return "1"; }
  void tactics(const Problem& problem, const Limits&, std::vector<Candidate>* offers,
               std::vector<Refusal>*) const override {
    const auto offer = [&](const char* kernel, const std::string& config, bool ranked) {
      Candidate c;
      c.tactic = {"several", kernel, config};
      c.input_layouts.assign(problem.inputs.size(), Layout::kLinear);
      c.output_layouts.assign(problem.outputs.size(), Layout::kLinear);
      c.ranked = ranked;
      offers->push_back(std::move(c));
    };
    for (const char* config : {"1", "2", "3", "4", "5"}) offer("library", config, true);
    offer("own", "", false);
    offer("other", "", false);
  }
  Result<std::unique_ptr<Kernel>> create(const Tactic&, const Problem&, const Limits&) const override {
    return unsupported("nothing runs here");
  }
};

// So many steps of one problem, one after the other.
Program chain_of(int steps) {
  Program p;
  p.exprs.push_back({ShapeOp::kConst, 8, {}});
  p.tensors.resize(static_cast<size_t>(steps) + 1);
  for (PlanTensor& t : p.tensors) {
    t.dtype = DType::kF32;
    t.dims = {0_expr, 0_expr};
  }
  p.tensors.front().kind = TensorKind::kInput;
  p.tensors.back().kind = TensorKind::kOutput;
  p.inputs = {{0_tensor, false}};
  p.outputs = {{TensorIndex(steps), false}};
  const TensorDesc desc{DType::kF32, Layout::kLinear, {8, 8}, {8, 8}, false};
  for (int s = 0; s < steps; ++s) {
    Step step;
    step.name = "s" + std::to_string(s);
    step.problem.params = PointwiseParams{};
    step.problem.inputs = step.problem.outputs = {desc};
    step.problem.num_main = 1;
    step.inputs = {TensorIndex(s)};
    step.outputs = {TensorIndex(s + 1)};
    p.steps.push_back(std::move(step));
  }
  return p;
}

struct Timed {
  Choice choice;
  std::vector<std::string> kernels;  // that were timed, with their configurations
};

Timed choose(Program* program, double own, double other, double library, const ChooseOptions& given = {}) {
  static const Several provider;
  Timed timed;
  ChooseOptions options = given;
  options.cost = [&](const Problem&, StepIndex, EvaluatedCandidate* c) -> Status {
    const std::string& kernel = c->candidate.tactic.kernel;
    c->measured = true;
    c->us = kernel == "own" ? own : kernel == "other" ? other : library;
    timed.kernels.push_back(kernel + c->candidate.tactic.config);
    return {};
  };
  Result<Choice> choice = choose_tactics(program, {&provider}, options);
  EXPECT_TRUE(choice.ok()) << choice.status().to_string();
  if (choice.ok()) timed.choice = std::move(*choice);
  return timed;
}

TEST(Between, ProposalsBehindThoseThatLostAreNotTimed) {
  Program p = chain_of(1);
  const Timed lost = choose(&p, 100, 100, 130);
  EXPECT_EQ(lost.kernels, (std::vector<std::string>{"own", "other", "library1", "library2", "library3"}));
  const std::vector<EvaluatedCandidate>& all = lost.choice.steps[0_step].evaluated;
  for (const size_t c : {3, 4}) EXPECT_NE(all[c].refusal.find("1.30 times"), std::string::npos) << all[c].refusal;
  Program q = chain_of(1);
  EXPECT_EQ(choose(&q, 100, 100, 120).kernels.size(), 7u);
}

TEST(Between, AmongOthersTheFasterIsTaken) {
  Program p = chain_of(4);
  ChooseOptions options;
  std::vector<std::string> asked;
  options.between = [&](const PlacedTactic* before, const std::vector<PlacedTactic>& rivals,
                        const PlacedTactic* after) -> Result<std::vector<double>> {
    asked.push_back(fmt::format("{} {} {}", before == nullptr ? "-" : before->tactic.kernel, rivals[0].tactic.kernel,
                                after == nullptr ? "-" : after->tactic.kernel));
    std::vector<double> us;
    for (const PlacedTactic& rival : rivals) us.push_back(rival.tactic.kernel == "other" ? 30 : 31);
    return us;
  };
  const Timed timed = choose(&p, 100, 110, 200, options);
  // Two are alike, and worth most; what they take is around the others then.
  EXPECT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0], "own own own");
  for (const Step& step : p.steps) EXPECT_EQ(step.tactic.kernel, "other") << step.name;
}

// What is chosen for a step is of its own offers: an application may have struck out of one step's what another has.
TEST(Between, StepsWithOffersOfTheirOwnAreChosenByThemselves) {
  Program p = chain_of(4);
  ChooseOptions options;
  options.select = [](StepIndex step, StepReport* report) -> Status {
    for (EvaluatedCandidate& c : report->evaluated)
      if (step == 2_step && c.candidate.tactic.kernel == "other") c.refusal = "struck out";
    return {};
  };
  options.between = [](const PlacedTactic*, const std::vector<PlacedTactic>& rivals,
                       const PlacedTactic*) -> Result<std::vector<double>> {
    std::vector<double> us;
    for (const PlacedTactic& rival : rivals) us.push_back(rival.tactic.kernel == "other" ? 30 : 31);
    return us;
  };
  choose(&p, 100, 105, 110, options);
  EXPECT_EQ(p.steps[1_step].tactic.kernel, "other");
  EXPECT_EQ(p.steps[2_step].tactic.kernel, "own");
}

TEST(Between, ChanceAndAnEndOfTimingChangeNothing) {
  for (const bool ends : {false, true}) {
    Program p = chain_of(3);
    ChooseOptions options;
    int asked = 0;
    options.between = [&](const PlacedTactic*, const std::vector<PlacedTactic>& rivals,
                          const PlacedTactic*) -> Result<std::vector<double>> {
      ++asked;
      return ends ? std::vector<double>() : std::vector<double>{30, 29.9};
    };
    choose(&p, 100, 110, 200, options);
    EXPECT_EQ(asked, ends ? 1 : 3);
    for (const Step& step : p.steps) EXPECT_EQ(step.tactic.kernel, "own") << step.name;
  }
  Program p = chain_of(2);
  ChooseOptions options;
  options.between = [](const PlacedTactic*, const std::vector<PlacedTactic>&,
                       const PlacedTactic*) -> Result<std::vector<double>> {
    ADD_FAILURE() << "there is no rival";
    return std::vector<double>();
  };
  choose(&p, 100, 120, 200, options);
}

}  // namespace
}  // namespace wootz
