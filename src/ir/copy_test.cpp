#include "ir/copy.h"

#include <gtest/gtest.h>

#include "ir/test_ops.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace wootz {
namespace {

Node* unary(Graph& graph, std::string name, Value* x, Node* before = nullptr) {
  Node* node = graph.add_node(test_op("Sqrt"), std::move(name), {x}, {}, 1, before);
  node->output()->set_type(x->dtype(), x->shape());
  return node;
}

Node* add(Graph& graph, std::string name, Value* a, Value* b) {
  Node* node = graph.add_node(test_op("Add"), std::move(name), {a, b}, {});
  node->output()->set_type(a->dtype(), a->shape());
  return node;
}

std::vector<std::string> order(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node* node : graph.nodes()) names.push_back(node->name());
  return names;
}

TEST(CopyPart, TakesWhatTheRootsNeedAndKeepsIds) {
  Graph graph("net");
  Value* x = graph.add_input("x", DType::kF32, {Dim::symbol(graph.add_symbol({"n"}))});
  Value* unused = graph.add_input("unused", DType::kF32, {2});
  Node* dead = unary(graph, "dead", x);
  Value* c = graph.add_constant("c", HostTensor::scalar<float>(3));
  Node* a = unary(graph, "a", x);
  Node* sum = add(graph, "sum", a->output(), c);
  Node* late = unary(graph, "late", x, a);  // a later id in front of an earlier one
  a->set_input(0, late->output());
  sum->add_provenance("from the model");
  sum->output()->add_alias("other");
  sum->output()->set_name("y");
  graph.mark_output(dead->output());

  const std::shared_ptr<Graph> copy = copy_part(graph, {sum->output()});
  EXPECT_EQ(order(*copy), (std::vector<std::string>{"late", "a", "sum"}));
  ASSERT_EQ(copy->inputs().size(), 2u);
  EXPECT_EQ(copy->inputs()[1]->name(), "unused");
  EXPECT_TRUE(copy->outputs().empty()) << "the caller marks them";
  EXPECT_EQ(copy_of(*copy, dead->output()), nullptr);
  for (const Value* v : {x, unused, c, a->output(), late->output(), sum->output()}) {
    ASSERT_NE(copy_of(*copy, v), nullptr) << v->name();
    EXPECT_EQ(copy_of(*copy, v)->name(), v->name());
    EXPECT_EQ(copy_of(*copy, v)->id(), v->id());
    EXPECT_EQ(copy_of(*copy, v)->shape(), v->shape());
  }
  const Value* y = copy_of(*copy, sum->output());
  EXPECT_EQ(y->aliases(), sum->output()->aliases());
  EXPECT_EQ(y->producer()->provenance(), sum->provenance());
  EXPECT_EQ(copy_of(*copy, c)->constant().data(), c->constant().data()) << "memory is shared";
  EXPECT_EQ(copy->symbols().size(), 1u);
  EXPECT_TRUE(verify_graph(*copy).ok()) << verify_graph(*copy).message();
}

TEST(CopyPart, IsApartFromTheOriginal) {
  Graph graph("net");
  Value* x = graph.add_input("x", DType::kF32, {2});
  Node* a = unary(graph, "a", x);
  Node* b = unary(graph, "b", a->output());
  graph.mark_output(b->output());
  const std::string before = print_graph(graph);
  const std::shared_ptr<Graph> copy = copy_part(graph, {b->output()});
  copy->mark_output(copy_of(*copy, b->output()));
  EXPECT_EQ(print_graph(*copy), before);
  copy->add_symbol({"new"});
  copy->replace_all_uses(copy_of(*copy, a->output()), copy->inputs()[0]);
  copy_of(*copy, b->output())->set_name("other");
  EXPECT_EQ(print_graph(graph), before);
}

}  // namespace
}  // namespace wootz
