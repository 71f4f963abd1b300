#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "onnx/model_for_test.h"
#include "ops/interpreter.h"

namespace wootz::importer {
namespace {

using ::testing::HasSubstr;

// y = cond ? relu(x) + w : -x, where x, w and t = relu(x) are of the outer graph.
ModelProto if_model() {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "cond", {}, TensorProto::BOOL);
  add_input(graph, "x", {"2"});
  *graph->add_initializer() = raw_tensor<float>("w", TensorProto::FLOAT, {2}, {10, 20});
  add_node(graph, "Relu", {"x"}, {"t"}, "outer");
  NodeProto* node = add_node(graph, "If", {"cond"}, {"y"}, "choose");
  GraphProto* yes = add_attribute(node, "then_branch", AttributeProto::GRAPH)->mutable_g();
  yes->set_name("yes");
  add_node(yes, "Add", {"t", "w"}, {"y_then"}, "plus");
  add_output(yes, "y_then");
  GraphProto* no = add_attribute(node, "else_branch", AttributeProto::GRAPH)->mutable_g();
  no->set_name("no");
  add_node(no, "Neg", {"x"}, {"y_else"}, "minus");
  add_output(no, "y_else");
  add_output(graph, "y");
  return model;
}

TEST(Subgraphs, IfCapturesOuterValues) {
  const ImportedForTest imported = import_for_test(if_model());
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  for (const bool cond : {true, false}) {
    const std::vector<float> x = {3, -4};
    const Result<std::vector<HostTensor>> out =
        run_graph(*imported.graph, {HostTensor::scalar<bool>(cond), HostTensor::from<float>(x, Dims{2})});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ((*out)[0].get_f64(0), cond ? 13 : -3);
    EXPECT_EQ((*out)[0].get_f64(1), cond ? 20 : 4);
  }
}

TEST(Subgraphs, ProblemsOfEveryBranch) {
  ModelProto model = if_model();
  NodeProto* node = model.mutable_graph()->mutable_node(1);
  node->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_op_type("NoSuchOp");
  node->mutable_attribute(1)->mutable_g()->mutable_node(0)->set_op_type("NorThis");
  const ImportedForTest imported = import_for_test(model);
  ASSERT_EQ(imported.problems.size(), 2u) << imported.status.to_string();
  EXPECT_EQ(imported.problems[0].node, "choose/plus");
  EXPECT_EQ(imported.problems[1].node, "choose/minus");
  EXPECT_EQ(imported.problems[1].node_index, 1);
}

TEST(Subgraphs, UndefinedNameInside) {
  ModelProto model = if_model();
  model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_input(0, "ghost");
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("'ghost' is not defined"));
}

TEST(Subgraphs, ReadersOfLaterNodesAreSorted) {
  ModelProto model = if_model();
  model.mutable_graph()->mutable_node()->SwapElements(0, 1);  // If first, what its branch reads second
  EXPECT_TRUE(import_for_test(model).status.ok());
}

// sum over the trip count of x, from zero: the body's v is carried, x is captured through two levels.
ModelProto loop_model() {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"2"});
  *graph->add_initializer() = raw_tensor<int64_t>("trips", TensorProto::INT64, {}, {5});
  *graph->add_initializer() = raw_tensor<uint8_t>("go", TensorProto::BOOL, {}, {1});
  *graph->add_initializer() = raw_tensor<float>("zero", TensorProto::FLOAT, {2}, {0, 0});
  NodeProto* loop = add_node(graph, "Loop", {"trips", "go", "zero"}, {"total"}, "loop");
  GraphProto* body = add_attribute(loop, "body", AttributeProto::GRAPH)->mutable_g();
  add_input(body, "i", {}, TensorProto::INT64);
  add_input(body, "c", {}, TensorProto::BOOL);
  add_input(body, "v", {"2"});
  NodeProto* choose = add_node(body, "If", {"c"}, {"step"}, "choose");
  for (const char* branch : {"then_branch", "else_branch"}) {
    GraphProto* g = add_attribute(choose, branch, AttributeProto::GRAPH)->mutable_g();
    add_node(g, "Relu", {"x"}, {"r"});
    add_output(g, "r");
  }
  add_node(body, "Add", {"v", "step"}, {"v_next"});
  add_node(body, "Identity", {"c"}, {"c_next"});
  add_output(body, "c_next");
  add_output(body, "v_next");
  add_output(graph, "total");
  return model;
}

TEST(Subgraphs, LoopWithNestedCapture) {
  const ImportedForTest imported = import_for_test(loop_model());
  ASSERT_TRUE(imported.status.ok()) << imported.status.to_string();
  const std::vector<float> x = {3, -4};
  const Result<std::vector<HostTensor>> out = run_graph(*imported.graph, {HostTensor::from<float>(x, Dims{2})});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ((*out)[0].get_f64(0), 15);
  EXPECT_EQ((*out)[0].get_f64(1), 0);
}

TEST(Subgraphs, LoopBodiesThatDoNotFit) {
  ModelProto model = loop_model();
  GraphProto* body = model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  body->mutable_input()->RemoveLast();
  EXPECT_FALSE(import_for_test(model).status.ok());
  model = loop_model();
  body = model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  *body->add_initializer() = raw_tensor<float>("v", TensorProto::FLOAT, {2}, {0, 0});
  EXPECT_THAT(import_for_test(model).status.message(), HasSubstr("defined twice or has an initializer"));
  model = loop_model();
  body = model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  body->clear_output();
  EXPECT_FALSE(import_for_test(model).status.ok());
}

TEST(Subgraphs, NestingIsBounded) {
  ModelProto model = model_for_test();
  add_input(model.mutable_graph(), "c", {}, TensorProto::BOOL);
  add_output(model.mutable_graph(), "y");
  GraphProto* at = model.mutable_graph();
  for (int i = 0; i < 200; ++i) {
    NodeProto* node = add_node(at, "If", {"c"}, {"y"});
    GraphProto* no = add_attribute(node, "else_branch", AttributeProto::GRAPH)->mutable_g();
    add_node(no, "Identity", {"c"}, {"y"});
    add_output(no, "y");
    at = add_attribute(node, "then_branch", AttributeProto::GRAPH)->mutable_g();
    add_output(at, "y");
  }
  EXPECT_FALSE(import_for_test(model).status.ok());  // too deep for the parser already
}

}  // namespace
}  // namespace wootz::importer
