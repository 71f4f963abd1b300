#include "ir/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/test_ops.h"

namespace wootz {
namespace {

using ::testing::HasSubstr;

class VerifyTest : public ::testing::Test {
 protected:
  Node* add(std::string_view op, std::vector<Value*> inputs, AttrMap attrs = {}, int outputs = 1) {
    Node* node = graph_.add_node(test_op(op), "node", std::move(inputs), std::move(attrs), outputs);
    for (Value* value : node->outputs()) value->set_type(DType::kF32, {2});
    return node;
  }
  std::string refusal() const { return verify_graph(graph_).message(); }

  Graph graph_{"g"};
  Value* x_ = graph_.add_input("x", DType::kF32, {2});
};

TEST_F(VerifyTest, AcceptsAPlainGraph) {
  Node* node = add("Add", {x_, graph_.add_constant("c", HostTensor::scalar(1.0f))});
  graph_.mark_output(node->output());
  EXPECT_EQ(refusal(), "");
}

TEST_F(VerifyTest, Order) {
  Node* a = add("Sqrt", {x_});
  Node* b = add("Sqrt", {a->output()});
  graph_.mark_output(b->output());
  EXPECT_EQ(refusal(), "");
  graph_.move_before(b, a);
  EXPECT_THAT(refusal(), HasSubstr("graph 'g': node 'node' (Sqrt): input 0 'node_out' is not computed before it"));
}

TEST_F(VerifyTest, Counts) {
  add("Add", {x_});
  EXPECT_THAT(refusal(), HasSubstr("input 1 is missing"));
}
TEST_F(VerifyTest, TooManyInputs) {
  add("Sqrt", {x_, x_});
  EXPECT_THAT(refusal(), HasSubstr("2 inputs, at most 1"));
}
TEST_F(VerifyTest, OmittedInputs) {
  add("Clip", {x_, nullptr, x_});
  EXPECT_EQ(refusal(), "");
  add("Clip", {nullptr, x_});
  EXPECT_THAT(refusal(), HasSubstr("input 0 is missing"));
}
TEST_F(VerifyTest, Outputs) {
  add("Sqrt", {x_}, {}, 2);
  EXPECT_THAT(refusal(), HasSubstr("2 outputs, 1 to 1"));
}

TEST_F(VerifyTest, Attributes) {
  Node* node = add("Conv", {x_, x_}, {{"groups", int64_t{2}}});
  EXPECT_EQ(refusal(), "");
  node->set_attr("groups", 2.0);
  EXPECT_THAT(refusal(), HasSubstr("attribute 'groups' is not an integer"));
  node->remove_attr("groups");
  node->set_attr("nope", int64_t{1});
  EXPECT_THAT(refusal(), HasSubstr("attribute 'nope' is not known"));
  node->remove_attr("nope");
  node->set_attr("x_scale", std::vector<double>{0.5});
  EXPECT_EQ(refusal(), "");
}
TEST_F(VerifyTest, RequiredAttribute) {
  add("Concat", {x_, x_});
  EXPECT_THAT(refusal(), HasSubstr("attribute 'axis' is missing"));
}
TEST_F(VerifyTest, TypeAttribute) {
  Node* node = add("Cast", {x_}, {{"to", std::string("f17")}});
  EXPECT_THAT(refusal(), HasSubstr("attribute 'to' is not the name of an element type"));
  node->set_attr("to", std::string("f16"));
  EXPECT_EQ(refusal(), "");
}

TEST_F(VerifyTest, Epilogues) {
  PointwiseExpr expr;
  const uint16_t sum = expr.push(PwOp::kAdd, DType::kF32, expr.input(0, DType::kF32), expr.input(1, DType::kF32));
  expr.outputs.push_back(sum);
  Node* node = add("Conv", {x_, x_, x_}, {{"epilogue", expr}, {"main_inputs", int64_t{2}}});
  EXPECT_EQ(refusal(), "");
  node->set_attr("main_inputs", int64_t{3});
  EXPECT_THAT(refusal(), HasSubstr("the epilogue reads 2 operands, the node has its result and 0 more"));
  node->set_attr("main_inputs", int64_t{4});
  EXPECT_THAT(refusal(), HasSubstr("main_inputs is 4 of 3"));
  node->set_attr("main_inputs", int64_t{2});
  node->set_input(2, nullptr);
  EXPECT_THAT(refusal(), HasSubstr("input 2 is read by the epilogue and missing"));
  node->set_input(2, x_);
  expr.code[sum].a = 9;
  node->set_attr("epilogue", expr);
  EXPECT_THAT(refusal(), HasSubstr("attribute 'epilogue'"));
}

TEST_F(VerifyTest, Types) {
  Node* a = add("Sqrt", {x_});
  a->output()->set_type(DType::kInvalid, {});
  EXPECT_EQ(refusal(), "");  // it is not read
  add("Sqrt", {a->output()});
  EXPECT_THAT(refusal(), HasSubstr("value 'node_out' has the element type invalid"));
  a->output()->set_type(DType::kF32, Shape(9, Dim(1)));
  EXPECT_THAT(refusal(), HasSubstr("9 dimensions"));
  a->output()->set_type(DType::kF32, {-1});
  EXPECT_THAT(refusal(), HasSubstr("negative"));
  a->output()->set_type(DType::kF32, {Dim::symbol(0)});
  EXPECT_THAT(refusal(), HasSubstr("symbol s0"));
  graph_.add_symbol({"N"});
  EXPECT_EQ(refusal(), "");
}

TEST_F(VerifyTest, Constants) {
  Value* c = graph_.add_constant("c", HostTensor::scalar(1.0f));
  c->set_type(DType::kF32, {1});
  EXPECT_THAT(refusal(), HasSubstr("constant 'c' is declared f32[1] and holds f32[]"));
  c->set_type(DType::kF32, {});
  EXPECT_EQ(refusal(), "");
  graph_.add_constant("empty", HostTensor());
  EXPECT_THAT(refusal(), HasSubstr("constant 'empty' has no tensor"));
}

TEST_F(VerifyTest, Names) {
  Value* y = graph_.add_input("y", DType::kF32, {2});
  graph_.mark_output(y);  // an input may be an output
  EXPECT_EQ(refusal(), "");
  Node* node = add("Sqrt", {x_});
  graph_.mark_output(node->output());
  node->output()->set_name("x");
  EXPECT_THAT(refusal(), HasSubstr("two inputs or outputs have the name 'x'"));
  node->output()->set_name("z");
  graph_.mark_output(node->output());
  EXPECT_THAT(refusal(), HasSubstr("output 'z' is listed twice"));
  graph_.unmark_output(node->output());
  y->set_name("x");
  EXPECT_THAT(refusal(), HasSubstr("two inputs have the name 'x'"));
}

TEST_F(VerifyTest, Subgraphs) {
  auto inner = std::make_shared<Graph>("inner");
  Value* a = inner->add_input("a", DType::kF32, {2});
  inner->mark_output(a);
  inner->mark_output(a);  // inside, names do not count
  Node* node = add("If", {x_}, {{"then", inner}, {"else", inner}});
  EXPECT_EQ(refusal(), "");
  inner->add_node(test_op("Add"), "bad", {a}, {});
  EXPECT_THAT(refusal(),
              HasSubstr("node 'node' (If): attribute 'else': graph 'inner': node 'bad' (Add): input 1 is missing"));
  node->set_attr("else", std::shared_ptr<Graph>());
  EXPECT_THAT(refusal(), HasSubstr("no graph"));
}

TEST_F(VerifyTest, NestingIsBounded) {
  auto inner = std::make_shared<Graph>("leaf");
  for (int i = 0; i < limits::kMaxSubgraphDepth + 1; ++i) {
    auto outer = std::make_shared<Graph>("level");
    // Twice the same graph: without a bound on nodes this would take 2^65 steps.
    outer->add_node(test_op("Any"), "a", {}, {{"g", inner}}, 0);
    inner = outer;
  }
  add("Any", {}, {{"g", inner}}, 0);
  EXPECT_THAT(refusal(), HasSubstr("nest deeper than 64"));
}

TEST_F(VerifyTest, SharedSubgraphsDoNotMultiply) {
  auto inner = std::make_shared<Graph>("leaf");
  for (int i = 0; i < 40; ++i) {
    auto outer = std::make_shared<Graph>("level");
    for (int k = 0; k < 2; ++k) outer->add_node(test_op("Any"), "a", {}, {{"g", inner}}, 0);
    inner = outer;
  }
  add("Any", {}, {{"g", inner}}, 0);
  EXPECT_THAT(refusal(), HasSubstr("more than 1000000 nodes"));
}

}  // namespace
}  // namespace wootz
