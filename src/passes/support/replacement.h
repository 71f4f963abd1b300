// What is to stand in the place of a node: built in front of it, with its name
// and provenance, then given its results.
#pragma once

#include "ops/support/graph_builder.h"

namespace wootz {

class InsertBefore final : public NodeSink {
 public:
  InsertBefore(Graph& graph, Node* before) : before(before), graph_(graph) {}
  Graph& graph() override { return graph_; }
  Result<Node*> add(std::string_view op, std::vector<Value*> inputs, AttrMap attrs, int num_outputs) override;
  Value* add_constant(HostTensor tensor) override;

  Node* before;

 private:
  Graph& graph_;
};

class Replacement : private WithSink<InsertBefore>, public GraphBuilder {
 public:
  Replacement(Graph& graph, Node* node) : WithSink(graph, node), GraphBuilder(sink) {}

  // In the place of the node's results, which keep their names where the
  // network gives them. The first failure.
  Status finish(std::vector<Value*> results);
};

}  // namespace wootz
