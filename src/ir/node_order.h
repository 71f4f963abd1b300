// The nodes of a model in its order, by the names that provenance knows them by: what steps and reports are sorted
// after.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace wootz {

// A node of the model that is none of the graph: its results were known, or were its operands, as soon as it was read.
struct AbsentNode {
  std::string name, op;
  std::vector<std::string> outputs;
};

// The name that the node's place in the model goes by.
inline const std::string& first_origin(const Node& node) {
  return node.provenance().empty() ? node.name() : node.provenance()[0];
}

class NodeOrder {
 public:
  NodeOrder() = default;
  // Absent nodes come first.
  NodeOrder(const Graph& graph, const std::vector<AbsentNode>& absent) {
    for (const AbsentNode& node : absent) index_.try_emplace(node.name, index_.size());
    for (const Node* node = graph.first(); node != nullptr; node = node->next())
      index_.try_emplace(first_origin(*node), index_.size());
  }
  size_t size() const { return index_.size(); }
  // size() for a name of no node.
  size_t of(const std::string& name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? index_.size() : found->second;
  }

 private:
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace wootz
