#include "ir/graph.h"

#include <gtest/gtest.h>

#include <random>

#include "base/testing.h"
#include "ir/test_ops.h"
#include "ir/verify.h"

namespace wootz {
namespace {

std::vector<std::string> order(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node* node : graph.nodes()) names.push_back(node->name());
  return names;
}
using Names = std::vector<std::string>;

Node* unary(Graph& graph, std::string name, Value* x, Node* before = nullptr) {
  Node* node = graph.add_node(test_op("Sqrt"), std::move(name), {x}, {}, 1, before);
  node->output()->set_type(DType::kF32, {2});
  return node;
}

TEST(Graph, ValuesStandForWhatTheyReplaced) {
  Graph graph;
  Value* x = graph.add_input("x", DType::kF32, {2});
  Node* a = unary(graph, "a", x);
  Node* b = unary(graph, "b", a->output());
  Node* c = unary(graph, "c", b->output());
  a->output()->set_name("va");
  b->output()->set_name("vb");
  c->output()->set_name("vc");
  graph.replace_all_uses(c->output(), b->output());
  graph.replace_all_uses(b->output(), a->output());
  EXPECT_EQ(a->output()->aliases(), (Names{"vb", "vc"}));
  EXPECT_EQ(a->output()->name(), "va");
  a->output()->set_new_meaning("other");
  EXPECT_EQ(a->output()->name(), "other");
  EXPECT_TRUE(a->output()->aliases().empty());
}

TEST(Graph, KeepsOrder) {
  Graph graph;
  Value* x = graph.add_input("x", DType::kF32, {2});
  Node* a = unary(graph, "a", x);
  Node* c = unary(graph, "c", x);
  Node* b = unary(graph, "b", x, c);
  EXPECT_EQ(order(graph), (Names{"a", "b", "c"}));
  graph.move_before(c, a);
  EXPECT_EQ(order(graph), (Names{"c", "a", "b"}));
  graph.move_before(c, nullptr);
  EXPECT_EQ(order(graph), (Names{"a", "b", "c"}));
  graph.move_before(b, b);
  EXPECT_EQ(order(graph), (Names{"a", "b", "c"}));
  EXPECT_EQ(graph.last(), c);
  EXPECT_EQ(b->next(), c);
  EXPECT_EQ(b->prev(), a);
  graph.erase(b);
  EXPECT_EQ(order(graph), (Names{"a", "c"}));
  EXPECT_EQ(graph.num_nodes(), 2);
}

TEST(Graph, UsesFollowInputs) {
  Graph graph;
  Value* x = graph.add_input("x", DType::kF32, {2});
  Value* y = graph.add_input("y", DType::kF32, {2});
  Node* add = graph.add_node(test_op("Add"), "", {x, x}, {});
  EXPECT_EQ(x->uses().size(), 2u);
  add->set_input(1, y);
  EXPECT_EQ(x->uses().size(), 1u);
  ASSERT_EQ(y->uses().size(), 1u);
  EXPECT_EQ(y->uses()[0].node, add);
  EXPECT_EQ(y->uses()[0].index, 1);
  add->add_input(x);
  add->remove_inputs_from(1);
  EXPECT_EQ(add->num_inputs(), 1);
  EXPECT_EQ(x->uses().size(), 1u);
  EXPECT_TRUE(y->uses().empty());
  add->set_input(0, nullptr);
  EXPECT_TRUE(x->uses().empty());
}

TEST(Graph, ReplaceAllUsesReachesOutputs) {
  Graph graph;
  Value* x = graph.add_input("x", DType::kF32, {2});
  Node* a = unary(graph, "a", x);
  Node* b = unary(graph, "b", a->output());
  graph.mark_output(a->output());
  graph.mark_output(b->output());
  graph.replace_all_uses(a->output(), x);
  EXPECT_EQ(b->input(0), x);
  EXPECT_EQ(graph.outputs()[0], x);
  EXPECT_EQ(x->uses().size(), 2u);
  EXPECT_TRUE(a->output()->uses().empty());
  graph.erase(a);
  EXPECT_TRUE(verify_graph(graph).ok()) << verify_graph(graph).message();
}

TEST(Graph, EraseRefusesWhatIsUsed) {
  Graph graph;
  Value* x = graph.add_input("x", DType::kF32, {2});
  Value* c = graph.add_constant("c", HostTensor::scalar(1.0f));
  Node* a = unary(graph, "a", x);
  Node* b = graph.add_node(test_op("Add"), "b", {a->output(), c}, {});
  b->output()->set_type(DType::kF32, {2});
  graph.mark_output(b->output());
  const int c_id = c->id();
  graph.erase(a);
  graph.erase(b);
  graph.erase_value(c);
  graph.erase_value(x);
  graph.erase_value(a->output());
  EXPECT_EQ(graph.num_nodes(), 2);
  EXPECT_EQ(graph.value_by_id(c_id), c);
  graph.unmark_output(b->output());
  graph.erase(b);
  graph.erase_value(c);
  EXPECT_EQ(graph.value_by_id(c_id), nullptr);
  EXPECT_TRUE(graph.constants().empty());
  graph.erase(a);
  graph.erase_value(x);
  EXPECT_TRUE(graph.inputs().empty());
  EXPECT_EQ(graph.value_by_id(-1), nullptr);
  EXPECT_EQ(graph.value_by_id(1000), nullptr);
}

TEST(Graph, ForeignValuesAreNull) {
  Graph graph, other;
  Value* x = graph.add_input("x", DType::kF32, {2});
  Value* foreign = other.add_input("f", DType::kF32, {2});
  Node* add = graph.add_node(test_op("Add"), "", {x, foreign}, {});
  EXPECT_EQ(add->input(1), nullptr);
  add->set_input(0, foreign);
  EXPECT_EQ(add->input(0), nullptr);
  graph.mark_output(foreign);
  EXPECT_TRUE(graph.outputs().empty());
  graph.replace_all_uses(x, foreign);
  EXPECT_TRUE(foreign->uses().empty());
}

TEST(Graph, UniqueNames) {
  Graph graph;
  EXPECT_EQ(graph.unique_name("a"), "a");
  EXPECT_EQ(graph.unique_name("a"), "a_1");
  Value* x = graph.add_input("a_2", DType::kF32, {2});
  EXPECT_EQ(graph.unique_name("a"), "a_3");
  x->set_name("b");
  EXPECT_EQ(graph.unique_name("b"), "b_1");
  EXPECT_EQ(graph.add_node(test_op("Sqrt"), "", {x}, {})->name(), "Sqrt");
  EXPECT_EQ(graph.add_node(test_op("Sqrt"), "", {x}, {})->name(), "Sqrt_1");
  EXPECT_FALSE(graph.unique_name("").empty());
}

TEST(Graph, AttributesByKind) {
  Graph graph;
  Node* node = graph.add_node(test_op("Any"), "", {}, {{"i", int64_t{3}}, {"d", std::string("f16")}}, 0);
  EXPECT_EQ(node->attr_int("i"), 3);
  EXPECT_EQ(node->attr_float("i", 1.5), 1.5);
  EXPECT_EQ(node->attr_int("none", 7), 7);
  EXPECT_EQ(node->attr_dtype("d"), DType::kF16);
  EXPECT_EQ(node->attr_dtype("i", DType::kF32), DType::kF32);
  EXPECT_EQ(node->attr_tensor("i"), nullptr);
  EXPECT_EQ(node->attr_expr("i"), nullptr);
  node->set_attr("i", std::vector<int64_t>{1});
  EXPECT_EQ(node->attr_ints("i"), (std::vector<int64_t>{1}));
  node->remove_attr("i");
  node->remove_attr("i");
  EXPECT_FALSE(node->has_attr("i"));
}

TEST(Graph, ProvenanceHasNoRepeats) {
  Graph graph;
  Node* a = graph.add_node(test_op("Any"), "", {}, {}, 0);
  Node* b = graph.add_node(test_op("Any"), "", {}, {}, 0);
  a->add_provenance("one");
  b->add_provenance("two");
  b->add_provenance("one");
  a->add_provenance(*b);
  a->add_provenance(*a);
  EXPECT_EQ(a->provenance(), (Names{"one", "two"}));
}

// Random rewriting against the verifier, which recounts everything.
TEST(Graph, RandomRewritingStaysConsistent) {
  const uint64_t seed = test_seed();
  std::mt19937_64 rng(seed);
  Graph graph;
  std::vector<Value*> values;
  for (int i = 0; i < 3; ++i) values.push_back(graph.add_input("x" + std::to_string(i), DType::kF32, {2}));
  for (int step = 0; step < 1000; ++step) {
    values = graph.inputs();
    for (Node* node : graph.nodes()) values.push_back(node->output());
    const auto pick = [&](size_t below) { return values[rng() % below]; };
    switch (rng() % 6) {
      case 0:
      case 1:
      case 2: {
        Node* node =
            graph.add_node(test_op("Concat"), "", {pick(values.size()), pick(values.size()), pick(values.size())},
                           {{"axis", int64_t{0}}});
        node->output()->set_type(DType::kF32, {2});
        break;
      }
      case 3: {  // an earlier value in place of a later one
        const size_t from = rng() % values.size();
        if (from > 0) graph.replace_all_uses(values[from], pick(from));
        break;
      }
      case 4:
        if (graph.num_nodes() > 0) graph.erase(graph.nodes()[rng() % static_cast<size_t>(graph.num_nodes())]);
        break;
      default:
        if (graph.num_nodes() > 0) {
          const size_t k = rng() % static_cast<size_t>(graph.num_nodes());
          Node* node = graph.nodes()[k];
          if (node->num_inputs() > 1) node->remove_inputs_from(node->num_inputs() - 1);
          node->add_input(pick(3 + k));
          node->set_input(0, pick(3 + k));
        }
    }
    const Status status = verify_graph(graph);
    ASSERT_TRUE(status.ok()) << status.message() << " at step " << step;
  }
}

}  // namespace
}  // namespace wootz
