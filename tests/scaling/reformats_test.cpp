// What reformats cost in the search is measured, once for each pair of layouts.
#include <gtest/gtest.h>

#include <set>

#include "backends/registry.h"
#include "lower/lower.h"
#include "ops/infer.h"
#include "scaling/networks.h"
#include "tuner/choose.h"

namespace wootz::scaling {
namespace {

struct Found {
  Choice choice;
  std::multiset<std::string> measured;  // reformats: the type and the two layouts
  size_t largest = 0, smallest = SIZE_MAX;
};

// Every kernel costs 10 us more the less it likes the channels last; reformats cost what the test says.
Found choose_with(double reformat_us) {
  Found found;
  const std::shared_ptr<Graph> graph = network_kinds()[2].make(60);
  EXPECT_TRUE(infer_graph(*graph).ok());
  const Backend* backend = *find_backend("cpu");
  const std::vector<const Provider*> providers = backend_providers(*backend);
  LowerOptions lower;
  lower.providers = providers;
  Result<Lowered> lowered = lower_graph(*graph, lower);
  EXPECT_TRUE(lowered.ok());
  const size_t steps = lowered->program.steps.size();
  ChooseOptions options;
  options.cost = [&](const Problem& problem, StepIndex step, EvaluatedCandidate* candidate) -> Status {
    candidate->measured = true;
    if (step.position() < steps) {
      const bool conv = problem.family() == Family::kConv, last = problem.outputs[0].layout == Layout::kChannelsLast;
      candidate->us = conv == last ? 10 : 20;
      return Status();
    }
    EXPECT_EQ(problem.family(), Family::kReformat);
    found.measured.insert(fmt::format("{} {} {}", dtype_name(problem.inputs[0].dtype),
                                      layout_name(problem.inputs[0].layout), layout_name(problem.outputs[0].layout)));
    found.largest = std::max(found.largest, static_cast<size_t>(problem.inputs[0].dims.volume()));
    found.smallest = std::min(found.smallest, static_cast<size_t>(problem.inputs[0].dims.volume()));
    candidate->us = reformat_us;
    return Status();
  };
  Result<Choice> choice = choose_tactics(&lowered->program, providers, options);
  EXPECT_TRUE(choice.ok()) << choice.status().to_string();
  if (choice.ok()) found.choice = std::move(choice).value();
  return found;
}

TEST(Reformats, AreMeasuredOnceAndDecide) {
  const Found dear = choose_with(1000), cheap = choose_with(1.6);
  EXPECT_GT(dear.measured.size(), 0u);
  for (const std::string& pair : dear.measured) EXPECT_EQ(dear.measured.count(pair), 1u) << pair;
  EXPECT_EQ(dear.largest, dear.smallest) << "on the largest tensor only";
  EXPECT_LT(dear.choice.reformats, cheap.choice.reformats);
  EXPECT_LE(dear.choice.reformats, 2u);  // at the network's ends
}

}  // namespace
}  // namespace wootz::scaling
