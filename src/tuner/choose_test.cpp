// The search over layouts: what it makes of measured times, and of how sure they are.
#include <algorithm>

#include "tuner/choose.h"

#include <gtest/gtest.h>

#include "backend/index_literals.h"

namespace wootz {
namespace {

// Offers each step in two layouts, and reformats between them.
class TwoLayouts final : public Provider {
 public:
  const char* name() const override { return "two"; }
  std::string version() const override { return "1"; }
  void tactics(const Problem& problem, const Limits&, std::vector<Candidate>* offers,
               std::vector<Refusal>*) const override {
    const auto offer = [&](const char* kernel, Layout in, Layout out) {
      Candidate c;
      c.tactic = {"two", kernel, ""};
      c.input_layouts.assign(problem.inputs.size(), in);
      c.output_layouts.assign(problem.outputs.size(), out);
      c.estimate_us = 100;
      offers->push_back(std::move(c));
    };
    if (problem.family() == Family::kReformat) {
      offer("move", problem.inputs[0].layout, problem.outputs[0].layout);
    } else {
      offer("linear", Layout::kLinear, Layout::kLinear);
      offer("last", Layout::kChannelsLast, Layout::kChannelsLast);
    }
  }
  Result<std::unique_ptr<Kernel>> create(const Tactic&, const Problem&, const Limits&) const override {
    return unsupported("nothing runs here");
  }
};

// Steps one after the other over one tensor of [1, 8, 16, 16]; `open`: the first extent is a symbol.
Program chain_of(int steps, Dims dims = {1, 8, 16, 16}, bool open = false) {
  Program p;
  for (const int64_t d : dims) p.exprs.push_back({ShapeOp::kConst, d, {}});
  if (open) {
    p.exprs[0_expr] = {ShapeOp::kSymbol, 0, {}};
    p.symbols.push_back({"N", SymbolSource::kInputDim, 0_tensor, 0});
  }
  p.tensors.resize(static_cast<size_t>(steps) + 1);
  for (PlanTensor& t : p.tensors) {
    t.dtype = DType::kF32;
    t.dims = {0_expr, 1_expr, 2_expr, 3_expr};
  }
  p.tensors.front().kind = TensorKind::kInput;
  p.tensors.back().kind = TensorKind::kOutput;
  p.inputs = {{0_tensor, false}};
  p.outputs = {{TensorIndex(steps), false}};
  TensorDesc desc{DType::kF32, Layout::kLinear, dims, dims, false};
  if (open) desc.max_dims[0] = 8;
  for (int s = 0; s < steps; ++s) {
    Step step;
    step.name = "s" + std::to_string(s);
    step.problem.params = PoolParams{.p = s};
    step.problem.inputs = step.problem.outputs = {desc};
    step.problem.num_main = 1;
    step.inputs = {TensorIndex(s)};
    step.outputs = {TensorIndex(s + 1)};
    step.provenance = {step.name};
    p.steps.push_back(std::move(step));
  }
  return p;
}

struct Times {
  double linear, last, spread;
};

Choice choose(Program* program, const std::vector<Times>& times, double reformat_us) {
  static const TwoLayouts provider;
  ChooseOptions options;
  options.cost = [&](const Problem&, StepIndex s, EvaluatedCandidate* c) -> Status {
    c->measured = true;
    c->us = reformat_us;
    const size_t row = s.position();
    if (row >= times.size()) return {};
    c->us = c->candidate.tactic.kernel == "linear" ? times[row].linear : times[row].last;
    c->spread = times[row].spread;
    return {};
  };
  Result<Choice> choice = choose_tactics(program, {&provider}, options);
  EXPECT_TRUE(choice.ok()) << choice.status().to_string();
  return choice.ok() ? *choice : Choice{};
}

size_t reformats_with(double last, double spread) {
  Program p = chain_of(3);
  return choose(&p, {{100, 500, 0}, {100, last, spread}, {100, 500, 0}}, 5).reformats;
}

TEST(Choose, AReformatEarnsMoreThanTheDoubtOfTheTimesBehindIt) {
  EXPECT_EQ(reformats_with(70, 0.01), 2u);  // 30 us for two reformats of 5
  EXPECT_EQ(reformats_with(70, 0.2), 0u);   // 30 us, give or take 34
  EXPECT_EQ(reformats_with(20, 0.2), 2u);   // 80 us, give or take 24
  EXPECT_EQ(reformats_with(95, 0), 0u);     // 5 us are not worth 10
}

TEST(Choose, TotalsThatAreNearlyTheSameGoWithoutReformats) {
  const auto reformats = [](double last) {
    Program p = chain_of(4);
    return choose(&p, {{1000, 5000, 0}, {400, last, 0}, {1000, 5000, 0}, {1000, 5000, 0}}, 5).reformats;
  };
  EXPECT_EQ(reformats(340), 0u);  // 50 us of 3,400
  EXPECT_EQ(reformats(200), 2u);  // 190
}

TEST(Choose, WithinDoubtTheFasterOfOneLayoutIsTaken) {
  Program p = chain_of(1);
  const Choice choice = choose(&p, {{100, 99, 0.3}}, 1000);
  EXPECT_EQ(choice.reformats, 0u);
  EXPECT_EQ(p.steps[0_step].tactic.kernel, "linear");
  EXPECT_EQ(choice.total_us, 100);
}

TEST(Choose, ReformatsAreTimedForTheReport) {
  Program p = chain_of(3);
  const Choice choice = choose(&p, {{100, 500, 0}, {100, 20, 0}, {100, 500, 0}}, 5);
  ASSERT_EQ(choice.reformats, 2u);
  ASSERT_EQ(choice.steps.size(), 5u);
  for (const Step& step : p.steps) {
    EXPECT_GT(step.measured_us, 0) << step.name;
    if (step.problem.family() != Family::kReformat) continue;
    const auto found = std::find_if(choice.steps.begin(), choice.steps.end(),
                                    [&](const StepReport& r) { return r.step == step.name; });
    ASSERT_NE(found, choice.steps.end()) << step.name;
    EXPECT_EQ(found->evaluated[0].us, 5);
    EXPECT_EQ(found->chosen, 0);
  }
}

TEST(Choose, OneChannelOrOnePointLiesAlikeWhateverTheBatch) {
  for (const bool open : {false, true}) {
    Program points = chain_of(3, {1, 8, 1, 1}, open), channel = chain_of(3, {1, 1, 16, 16}, open);
    for (Program* p : {&points, &channel})
      EXPECT_EQ(choose(p, {{100, 500, 0}, {100, 20, 0}, {100, 500, 0}}, 5).reformats, 0u);
  }
  // An extent that is 1 in the profile at hand only is not 1.
  Program p = chain_of(3, {1, 8, 1, 1});
  p.exprs[2_expr] = {ShapeOp::kSymbol, 0, {}};
  p.symbols.push_back({"H", SymbolSource::kInputDim, 0_tensor, 2});
  EXPECT_EQ(choose(&p, {{100, 500, 0}, {100, 20, 0}, {100, 500, 0}}, 5).reformats, 2u);
}

}  // namespace
}  // namespace wootz
