// A refittable plan is its build: run again without choosing, it gives what a new build gives.
#include "build/refit/rebuild.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/json.h"
#include "build/build.h"
#include "build/refit/fixed_choices.h"
#include "build/refit/recipe.h"
#include "ir/text.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "plan/read.h"
#include "plan/write.h"

namespace wootz {
namespace {

Result<RawBytes> build(float filter, float bias, const std::string& backend = "cpu") {
  const std::string text = fmt::format(
      "graph \"net\" {{\n"
      "  sym N = input_dim %x 0;\n"
      "  %x: f32[N,16,8,8] = input;\n"
      "  %w: f32[16,16,3,3] = const splat({});\n"
      "  %b: f32[16] = const splat({});\n"
      "  %c = Conv(%x, %w, %b) {{pads = [1, 1, 1, 1]}} \"conv\";\n"
      "  %y = Relu(%c) \"relu\";\n"
      "  return %y;\n}}\n",
      filter, bias);
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Graph> graph, parse_graph(text, find_op));
  WOOTZ_RETURN_IF_ERROR(infer_graph(*graph));
  BuildSettings settings;
  settings.backend = backend;
  settings.measure = false;
  settings.threads = 1;
  settings.profiles.push_back({{{"x", {{1, 16, 8, 8}, {2, 16, 8, 8}, {4, 16, 8, 8}}}}, {}});
  settings.refit.emplace();
  settings.refit->weights = {{"w", "w", "", RefitWeight::kNoRole, false}, {"b", "b", "", RefitWeight::kNoRole, false}};
  WOOTZ_ASSIGN_OR_RETURN(const BuildOutput built, build_program(*graph, settings));
  return write_plan(*built.program);
}

// The recipe with all elements of a weight set to a value.
std::shared_ptr<RefitRecipe> with(const RefitRecipe& recipe, size_t weight, float value) {
  auto changed = std::make_shared<RefitRecipe>(recipe);
  RefitConstant& c = changed->constants[static_cast<size_t>(recipe.weights[weight].constant)];
  auto owner = std::make_shared<std::vector<float>>(c.bytes / sizeof(float), value);
  c.data = owner->data();
  c.owner = owner;
  return changed;
}

class Rebuild : public testing::TestWithParam<const char*> {};

TEST_P(Rebuild, GivesThePlanOfANewBuild) {
  const Result<RawBytes> before = build(0.25F, 0.5F, GetParam()), after = build(-0.75F, 2, GetParam());
  ASSERT_TRUE(before.ok()) << before.status().to_string();
  ASSERT_TRUE(after.ok());
  const auto program = read_plan(*before);
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  ASSERT_NE((*program)->refit, nullptr);
  ASSERT_EQ((*program)->refit->weights.size(), 2u);
  Result<ProgramUpdate> update = rebuild(**program, with(*with(*(*program)->refit, 0, -0.75F), 1, 2), kCurrentDevice);
  ASSERT_TRUE(update.ok()) << update.status().to_string();
  EXPECT_FALSE(update->constants.empty());
  Program updated = **program;
  apply(std::move(*update), &updated);
  const Result<RawBytes> made = write_plan(updated);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_TRUE(*made == *after);
}

TEST_P(Rebuild, OfTheSameWeightsChangesNothing) {
  const Result<RawBytes> plan = build(0.25F, 0.5F, GetParam());
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  const auto program = read_plan(*plan);
  ASSERT_TRUE(program.ok());
  const Result<ProgramUpdate> update = rebuild(**program, (*program)->refit, kCurrentDevice);
  ASSERT_TRUE(update.ok()) << update.status().to_string();
  EXPECT_TRUE(update->empty());
}

INSTANTIATE_TEST_SUITE_P(Backends, Rebuild, testing::Values("cpu", "reference"));

// A weight whose input channels are `zero` of each four 0, otherwise as they are.
std::shared_ptr<RefitRecipe> with_zeros(const RefitRecipe& recipe, size_t zero) {
  auto changed = std::make_shared<RefitRecipe>(recipe);
  RefitConstant& c = changed->constants[static_cast<size_t>(recipe.weights[0].constant)];
  const auto* const from = static_cast<const float*>(c.data);
  auto owner = std::make_shared<std::vector<float>>(from, from + c.bytes / sizeof(float));
  constexpr size_t kTaps = 9, kChannels = 16;
  for (size_t i = 0; i < owner->size(); ++i)
    if (i / kTaps % kChannels % 4 < zero) (*owner)[i] = 0;
  c.data = owner->data();
  c.owner = owner;
  return changed;
}

// A kernel that leaves zeros out stands in the recipe; where weights have none any more, the refit says so.
TEST(SparseRebuild, KernelsNeedTheZeros) {
  const Result<RawBytes> plan = build(0.25F, 0.5F);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  const auto program = read_plan(*plan);
  ASSERT_TRUE(program.ok());
  auto recipe = std::make_shared<RefitRecipe>(*with_zeros(*(*program)->refit, 2));
  recipe->settings.replace(recipe->settings.size() - 1, 1, ",\"sparse_weights\":true}");
  const Result<ProgramUpdate> taken = rebuild(**program, recipe, kCurrentDevice);
  ASSERT_TRUE(taken.ok()) << taken.status().to_string();
  ASSERT_EQ(taken->steps.size(), 1u);
  EXPECT_TRUE(taken->steps[0].second.as<ConvParams>().sparse);
  SortedJson choices = SortedJson::parse(recipe->choices);
  std::string tactic;
  for (SortedJson& unit : choices)
    for (SortedJson& one : unit) tactic = one[1] = "conv_sparse_" + one[1].get<std::string>();
  recipe->choices = choices.dump();
  recipe = with_zeros(*with(*recipe, 0, 0.25F), 1);
  const Result<ProgramUpdate> refused = rebuild(**program, recipe, kCurrentDevice);
  ASSERT_FALSE(refused.ok());
  for (const std::string& part : {std::string("layer 'conv"), std::string("weights 'w'"), tactic,
                                  std::string("wootz quantize --sparse 2:4"), std::string("build the network anew")})
    EXPECT_NE(refused.status().to_string().find(part), std::string::npos) << refused.status().to_string();
}

TEST(Recipe, ForgedTextsAreRefused) {
  const Result<RawBytes> plan = build(0.25F, 0.5F);
  ASSERT_TRUE(plan.ok());
  const auto program = read_plan(*plan);
  ASSERT_TRUE(program.ok());
  const RefitRecipe& good = *(*program)->refit;
  const auto refused = [&](const std::string& graph, const std::string& settings, const std::string& choices) {
    auto bad = std::make_shared<RefitRecipe>(good);
    bad->graph = graph;
    bad->settings = settings;
    bad->choices = choices;
    return !rebuild(**program, bad, kCurrentDevice).ok();
  };
  for (const char* text : {"", "{}", "[]", "[[]]", "[[[1,2,3,4,5,6]]]", "nonsense", "{\"backend\": 7}",
                           "[[[\"native\",\"nothing\",\"\",[],[],0]]]"}) {
    EXPECT_TRUE(refused(text, good.settings, good.choices)) << text;
    EXPECT_TRUE(refused(good.graph, text, good.choices)) << text;
    EXPECT_TRUE(refused(good.graph, good.settings, text)) << text;
  }
  std::string other = good.graph;
  other.replace(other.find("elided \""), 9, "elided \"9");
  EXPECT_TRUE(refused(other, good.settings, good.choices));
}

}  // namespace
}  // namespace wootz
