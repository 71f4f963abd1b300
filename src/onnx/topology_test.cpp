#include "onnx/topology.h"

#include <gtest/gtest.h>

#include "onnx/model_for_test.h"

namespace wootz::importer {
namespace {

TEST(Topology, KeepsAnAllowedOrder) {
  GraphProto graph;
  add_node(&graph, "A", {}, {"a"});
  add_node(&graph, "B", {}, {"b"});
  add_node(&graph, "C", {"a"}, {"c"});
  Topology topology;
  EXPECT_EQ(topology.order(graph.node()).sorted, (std::vector<int>{0, 1, 2}));
}

TEST(Topology, SortsAndFindsCycles) {
  GraphProto graph;
  add_node(&graph, "C", {"b"}, {"c"});
  add_node(&graph, "B", {"a"}, {"b"});
  add_node(&graph, "A", {"x"}, {"a"});
  add_node(&graph, "Self", {"s"}, {"s"});
  add_node(&graph, "After", {"s"}, {"t"});
  Topology topology;
  const NodeOrder& order = topology.order(graph.node());
  EXPECT_EQ(order.sorted, (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(order.cyclic, (std::vector<int>{3, 4}));
}

TEST(Topology, SubgraphsReadOuterNames) {
  GraphProto graph;
  NodeProto* node = add_node(&graph, "If", {"c"}, {"y"});
  GraphProto* body = add_attribute(node, "then_branch", AttributeProto::GRAPH)->mutable_g();
  add_node(body, "N", {"outer"}, {"y"});  // a name of its own that is also its node's output
  add_node(body, "N", {"y"}, {"z"});
  add_output(body, "z");
  add_node(&graph, "O", {"x"}, {"outer"});
  Topology topology;
  const NodeOrder& order = topology.order(graph.node());
  EXPECT_EQ(order.sorted, (std::vector<int>{1, 0}));
  EXPECT_TRUE(order.cyclic.empty());
}

}  // namespace
}  // namespace wootz::importer
