// What becomes of the model's nodes and values on the way to a program: the build's memory for its reports and for
// debug taps. Filled from outside, by looking at the graph before and after each pass; no pass knows of it.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ir/node_order.h"
#include "lower/lowered.h"
#include "passes/pass.h"

namespace wootz {

// A node as the model has it, by the name that provenance knows it by.
struct ModelNode {
  std::string name, op;
  std::vector<std::string> inputs, outputs;  // values; constants are left out of the inputs
  std::string removed_by;                    // pass after which no node stood for it any more; empty: none
  bool in_place = false;                     // it needs no step, because its operands are made where they belong
};

// Nodes that became one node.
struct Fusion {
  std::string pass;
  std::vector<std::string> members;  // the model's, in its order
};

class ModelTrace {
 public:
  // The graph before the passes, inferred; what the model has beside it; the order of both.
  ModelTrace(const Graph& graph, const std::vector<AbsentNode>& absent_nodes, NodeOrder order);
  void after_pass(const PassReport& pass, const Graph& graph);
  // These steps were there (in `before`) and are no more: elide_copies() saw that they need not be.
  void note_placed(const IndexedVector<StepIndex, Step>& before, const std::vector<std::string>& gone);
  // Where each value of the model is. To be called when the program is complete.
  void locate_values(const Lowered& lowered, const Program& program);

  const std::vector<ModelNode>& nodes() const { return nodes_; }
  const std::vector<Fusion>& fusions() const { return fusions_; }
  // JSON for property::kValues (runtime/report/value_map.h reads it).
  std::string values_json() const;

 private:
  NodeOrder order_;
  std::vector<ModelNode> nodes_;  // by number in the order
  std::vector<Fusion> fusions_;
  std::unordered_map<std::string, size_t> groups_;  // node groups before the pass, as text
  struct Located {
    TensorIndex tensor;
    std::vector<StepIndex> steps;
    std::string why;
  };
  std::vector<std::pair<std::string, Located>> values_;  // in the model's order
};

}  // namespace wootz
