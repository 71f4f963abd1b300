#include "tuner/measure/prepare.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "backend/concurrent.h"
#include "backend/index_literals.h"
#include "tuner/offers.h"

namespace wootz {
namespace {

// Two ways for every problem, one of which takes no pooling by 13. Notes what is prepared, and on how many threads.
class Compiling : public Provider {
 public:
  explicit Compiling(std::string name = "compiling") : name_(std::move(name)) {}
  const char* name() const override { return name_.c_str(); }
  std::string version() const override { return "1"; }
  void tactics(const Problem& problem, const Limits&, std::vector<Candidate>* offers,
               std::vector<Refusal>* refusals) const override {
    ++asked;
    for (const char* kernel : {"quick", "slow"}) {
      if (problem.as<PoolParams>().p == 13 && std::string(kernel) == "slow") {
        refusals->push_back({kernel, "13"});
        continue;
      }
      Candidate c;
      c.tactic = {name_, kernel, ""};
      c.input_layouts.assign(problem.inputs.size(), Layout::kLinear);
      c.output_layouts.assign(problem.outputs.size(), Layout::kLinear);
      c.estimate_us = static_cast<double>(1 + problem.as<PoolParams>().p);
      offers->push_back(std::move(c));
    }
  }
  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem& problem, const Limits&) const override {
    if (tactic.kernel == "broken") return unsupported("it is broken");
    return std::unique_ptr<Kernel>(std::make_unique<Prepared>(*this, tactic.kernel, problem.as<PoolParams>().p));
  }
  mutable std::atomic<int> asked{0};
  mutable std::mutex mutex;
  mutable std::multiset<std::string> prepared;

 private:
  class Prepared final : public Kernel, public PreparedKernel {
   public:
    Prepared(const Compiling& owner, std::string kernel, int64_t p)
        : owner_(owner), text_(fmt::format("{} {}", kernel, p)) {}
    Result<std::unique_ptr<Call>> bind(const BindArgs&) const override { return unsupported("nothing runs here"); }
    void prepare(const BindArgs& args) const override {
      EXPECT_EQ(args.inputs.size(), 1U);
      EXPECT_EQ(args.outputs.size(), 1U);
      EXPECT_EQ(args.constants.size(), 1U);
      const std::lock_guard<std::mutex> lock(owner_.mutex);
      owner_.prepared.insert(text_);
    }

   private:
    const Compiling& owner_;
    std::string text_;
  };
  std::string name_;
};

class Concurrent final : public Compiling, public ConcurrentProvider {
 public:
  using Compiling::Compiling;
};

// Poolings that differ in a number, those of equal numbers alike.
Program poolings(const std::vector<int64_t>& numbers) {
  Program program;
  program.exprs = {{ShapeOp::kConst, 4, {}}};
  for (const int64_t p : numbers) {
    Step step;
    step.name = fmt::format("pool {}", program.steps.size());
    step.problem.params = PoolParams{.p = p};
    const Dims dims{4, 4};
    step.problem.inputs = step.problem.outputs = {{DType::kF32, Layout::kLinear, dims, dims, false}};
    step.problem.num_main = 1;
    program.steps.push_back(std::move(step));
  }
  return program;
}

std::string text_of(const Choice& choice) {
  std::string text;
  for (const StepReport& step : choice.steps) {
    text += step.step + ":";
    for (const EvaluatedCandidate& c : step.evaluated)
      text += fmt::format(" {} {}", c.candidate.tactic.to_string(), c.us);
    for (const Refusal& r : step.refused) text += fmt::format(" no {}", r.kernel);
    text += "\n";
  }
  return text;
}

TEST(Offers, AreTheSameOnAnyNumberOfThreads) {
  const Program program = poolings({3, 13, 5, 3, 7, 5, 11, 2, 13});
  std::string serial;
  for (const int threads : {1, 2, 8}) {
    const Concurrent first("first"), last("last");
    const Compiling between("between");
    ChooseOptions options;
    options.threads = threads;
    const Result<Choice> choice = gather_offers(program, {&first, &between, &last}, options);
    ASSERT_TRUE(choice.ok()) << choice.status().to_string();
    EXPECT_EQ(first.asked, 6) << "once for each distinct problem";
    EXPECT_EQ(between.asked, 6);
    if (threads == 1) serial = text_of(*choice);
    EXPECT_EQ(text_of(*choice), serial);
    EXPECT_EQ(choice->offered_to[3_step], 0_step);
  }
  EXPECT_NE(serial.find("pool 1: first:quick 14 between:quick 14 last:quick 14 no slow no slow no slow"),
            std::string::npos)
      << serial;
}

TEST(Offers, AskingCanBeCancelled) {
  const Concurrent provider;
  ChooseOptions options;
  options.progress = [](size_t, size_t, Moment moment) { return moment != Moment::kOffered; };
  const Result<Choice> choice = gather_offers(poolings({1, 2, 3, 4}), {&provider}, options);
  EXPECT_EQ(choice.status().code(), Code::kCancelled);
}

std::vector<Wanted> all_of(const Program& program, const Choice& choice) {
  std::vector<Wanted> wanted;
  for (const StepIndex s : program.steps.indices())
    for (const EvaluatedCandidate& c : choice.steps[choice.offered_to[s]].evaluated)
      wanted.push_back({&program.steps[s].problem, s, &c});
  return wanted;
}

constexpr auto kGoOn = [](size_t) { return true; };

TEST(Prepare, EqualKernelsOnceAndOnlyOfProvidersThatCan) {
  const Program program = poolings({3, 5, 3, 13});
  const Concurrent can("can");
  const Compiling cannot("cannot");
  const std::vector<const Provider*> providers{&can, &cannot};
  Result<Choice> choice = gather_offers(program, providers, {});
  ASSERT_TRUE(choice.ok());
  choice->steps[0_step].evaluated.push_back(choice->steps[0_step].evaluated[0]);
  choice->steps[0_step].evaluated.back().candidate.tactic.kernel = "broken";  // is left to who binds it
  EXPECT_TRUE(prepare_kernels(all_of(program, *choice), providers, {}, 3, kGoOn));
  EXPECT_EQ(can.prepared, (std::multiset<std::string>{"quick 3", "slow 3", "quick 5", "slow 5", "quick 13"}));
  EXPECT_TRUE(cannot.prepared.empty());
}

TEST(Prepare, CanBeStopped) {
  const Program program = poolings({1, 2, 3, 4, 5, 6});
  const Concurrent provider;
  const Result<Choice> choice = gather_offers(program, {&provider}, {});
  ASSERT_TRUE(choice.ok());
  EXPECT_FALSE(prepare_kernels(all_of(program, *choice), {&provider}, {}, 1, [](size_t done) { return done < 2; }));
  EXPECT_EQ(provider.prepared.size(), 2U);
}

// Before the first is costed, all that will be costed; those that a selector struck out are not.
TEST(Prepare, ComesBeforeCosting) {
  const Program program = poolings({3, 5, 3});
  const Concurrent provider;
  Result<Choice> choice = gather_offers(program, {&provider}, {});
  ASSERT_TRUE(choice.ok());
  std::vector<std::string> events;
  ChooseOptions options;
  options.prepare = [&](const std::vector<Wanted>& wanted) -> Status {
    events.push_back(fmt::format("prepare {}", wanted.size()));
    return {};
  };
  options.cost = [&](const Problem&, StepIndex s, EvaluatedCandidate*) -> Status {
    events.push_back(fmt::format("cost {}", s));
    return {};
  };
  choice->steps[1_step].evaluated[0].refusal = "not picked";
  ASSERT_TRUE(cost_offers(program, options, &*choice).ok());
  EXPECT_EQ(events, (std::vector<std::string>{"prepare 3", "cost 0", "cost 0", "cost 1"}));
  options.prepare = [](const std::vector<Wanted>&) { return make_error(Code::kCancelled, "enough"); };
  EXPECT_EQ(cost_offers(program, options, &*choice).code(), Code::kCancelled);
}

}  // namespace
}  // namespace wootz
