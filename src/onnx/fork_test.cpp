#include "onnx/fork.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx/model_for_test.h"
#include "ops/interpreter.h"

namespace wootz::importer {
namespace {

using ::testing::HasSubstr;

// The branches: Unsqueeze at the front, or Identity, of x under a condition.
NodeProto* add_if(GraphProto* graph, const std::string& condition, const std::string& x, const std::string& y) {
  NodeProto* node = add_node(graph, "If", {condition}, {y}, "choose_" + y);
  GraphProto* yes = add_attribute(node, "then_branch", AttributeProto::GRAPH)->mutable_g();
  yes->set_name("yes");
  *yes->add_initializer() = raw_tensor<int64_t>("front_" + y, TensorProto::INT64, {1}, {0});
  add_node(yes, "Unsqueeze", {x, "front_" + y}, {y + "_then"}, "raise_" + y);
  add_output(yes, y + "_then");
  GraphProto* no = add_attribute(node, "else_branch", AttributeProto::GRAPH)->mutable_g();
  no->set_name("no");
  add_node(no, "Identity", {x}, {y + "_else"}, "keep_" + y);
  add_output(no, y + "_else");
  return node;
}

ModelProto start() {
  ModelProto model = model_for_test();
  add_input(model.mutable_graph(), "cond", {}, TensorProto::BOOL);
  add_input(model.mutable_graph(), "x", {"n", "2"});
  return model;
}

void add_sum(GraphProto* graph, const std::string& x, const std::string& y) {
  add_attribute(add_node(graph, "ReduceSum", {x}, {y}, "sum_" + y), "keepdims", AttributeProto::INT)->set_i(0);
}

std::vector<float> run(const Graph& graph, bool condition, const std::vector<float>& x) {
  const Dims dims{static_cast<int64_t>(x.size() / 2), 2};
  const auto out = run_graph(graph, {HostTensor::scalar<bool>(condition), HostTensor::from<float>(x, dims)});
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  std::vector<float> values;
  for (int64_t i = 0; out.ok() && i < (*out)[0].volume(); ++i)
    values.push_back(static_cast<float>((*out)[0].get_f64(i)));
  return values;
}

TEST(Forks, ReadersGoOnInsideUntilRanksAgree) {
  ModelProto model = start();
  add_if(model.mutable_graph(), "cond", "x", "y");
  add_node(model.mutable_graph(), "Neg", {"y"}, {"z"}, "neg");
  add_sum(model.mutable_graph(), "z", "s");
  add_node(model.mutable_graph(), "Abs", {"s"}, {"out"}, "abs");
  add_output(model.mutable_graph(), "out");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  int outside = 0;
  for (const Node* n = imported.graph->first(); n != nullptr; n = n->next()) outside += n->is("Abs") || n->is("If");
  EXPECT_EQ(outside, imported.graph->num_nodes());
  EXPECT_EQ(outside, 2);
  for (const bool condition : {true, false})
    EXPECT_EQ(run(*imported.graph, condition, {3, -4, 5, 1}), std::vector<float>{5});
}

TEST(Forks, ABranchThatItsReadersCannotReadIsRequiredNotToBeTaken) {
  ModelProto model = start();
  add_if(model.mutable_graph(), "cond", "x", "y");
  NodeProto* turn = add_node(model.mutable_graph(), "Transpose", {"y"}, {"out"}, "turn");
  auto* perm = add_attribute(turn, "perm", AttributeProto::INTS);
  perm->add_ints(1);
  perm->add_ints(0);
  add_output(model.mutable_graph(), "out");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  EXPECT_EQ(run(*imported.graph, false, {1, 2, 3, 4}), (std::vector<float>{1, 3, 2, 4}));
  const auto out = run_graph(
      *imported.graph, {HostTensor::scalar<bool>(true), HostTensor::from<float>(std::vector<float>{1, 2}, Dims{1, 2})});
  ASSERT_FALSE(out.ok());
  EXPECT_THAT(out.status().message(), HasSubstr("then_branch"));
  EXPECT_THAT(out.status().message(), HasSubstr("'turn'"));
}

TEST(Forks, AResultOfTwoRanksIsRefusedWithBoth) {
  ModelProto model = start();
  add_if(model.mutable_graph(), "cond", "x", "out");
  add_output(model.mutable_graph(), "out");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_FALSE(imported.status.ok());
  for (const char* part : {"choose_out", "raise_out", "keep_out", "f32[1,s0,2]", "f32[s0,2]"})
    EXPECT_THAT(imported.status.message(), HasSubstr(part));
}

// The second is known inside of the branches of the first.
TEST(Forks, OfOneConditionGoOneWay) {
  ModelProto model = start();
  std::string x = "x";
  for (int i = 0; i < 4; ++i) {
    add_if(model.mutable_graph(), "cond", x, "y" + std::to_string(i));
    x = "y" + std::to_string(i);
  }
  add_sum(model.mutable_graph(), x, "s");
  add_output(model.mutable_graph(), "s");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  ASSERT_EQ(imported.graph->num_nodes(), 1);
  const auto then = imported.graph->first()->attr_graph("then_branch");
  ASSERT_NE(then, nullptr);
  for (const Node* n = then->first(); n != nullptr; n = n->next()) EXPECT_FALSE(n->is("If"));
  for (const bool condition : {true, false})
    EXPECT_EQ(run(*imported.graph, condition, {3, -4, 5, 1}), std::vector<float>{5});
}

// Names that are defined twice, outputs given twice, what reads itself: errors, whatever they say.
TEST(Forks, HostileNames) {
  for (int kind = 0; kind < 6; ++kind) {
    ModelProto model = start();
    GraphProto* graph = model.mutable_graph();
    NodeProto* choose = add_if(graph, "cond", "x", "y");
    add_sum(graph, "y", "s");
    add_output(graph, "s");
    if (kind == 0) add_if(graph, "cond", "x", "y");
    if (kind == 1) choose->add_output("y");
    if (kind == 2) add_node(graph, "Neg", {"x"}, {"y"});
    if (kind == 3) choose->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_input(0, "s");
    if (kind == 4) choose->mutable_attribute(0)->mutable_g()->clear_output();
    if (kind == 5) add_node(graph, "Neg", {"y"}, {"s"});
    EXPECT_FALSE(import_for_test(model).status.ok()) << kind;
  }
}

TEST(Forks, ManyAndDeepOnesAreBounded) {
  ModelProto chain = start(), deep = start();
  for (int i = 0; i < 300; ++i) {
    const std::string at = std::to_string(i);
    add_if(chain.mutable_graph(), "cond", "x", "y" + at);
    add_sum(chain.mutable_graph(), "y" + at, "s" + at);
    add_output(chain.mutable_graph(), "s" + at);
  }
  EXPECT_THAT(import_for_test(chain).status.message(), HasSubstr("more than 256"));
  std::string x = "x";
  for (int i = 0; i < 30; ++i) {
    add_input(deep.mutable_graph(), "cond" + std::to_string(i), {}, TensorProto::BOOL);
    add_if(deep.mutable_graph(), "cond" + std::to_string(i), x, "y" + std::to_string(i));
    x = "y" + std::to_string(i);
  }
  add_sum(deep.mutable_graph(), x, "s");
  add_output(deep.mutable_graph(), "s");
  EXPECT_THAT(import_for_test(deep).status.message(), HasSubstr("combinations of branches, the limit is 16"));
}

}  // namespace
}  // namespace wootz::importer
