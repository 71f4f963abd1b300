// A subgraph's nodes in the place of the node that has it.
#pragma once

#include "ir/graph.h"
#include "ir/op_def.h"

namespace wootz {

class Inliner {
 public:
  Inliner(Graph& graph, Node* node) : graph_(graph), node_(node) {}

  Result<Value*> emit(std::string_view name, std::vector<Value*> inputs, AttrMap attrs);
  Value* constant(HostTensor tensor);
  // The body's nodes in front of the node; its results on these inputs. `keep_names`: values are called as in the body,
  // where that is free; for a body that is written down once.
  Result<std::vector<Value*>> body(const Graph& body, const std::vector<Value*>& inputs, bool keep_names = false);
  // In the place of the node's results, which keep their names where the network gives them.
  Status finish(std::vector<Value*> results);

 private:
  Result<Node*> add(const OpDef& def, std::vector<Value*> inputs, AttrMap attrs, int outputs);
  Graph& graph_;
  Node* node_;
};

}  // namespace wootz
