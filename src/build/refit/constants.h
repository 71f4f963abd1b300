// The constants of a graph and of the graphs in its nodes, as refitters know them.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace wootz {

struct NamedConstant {
  std::string name;  // the value's own; one that is taken already has its place before it: "loop.body/w"
  const Graph* graph = nullptr;
  const Value* value = nullptr;
};

// Those of the graph itself come first. Equal graphs give equal names.
std::vector<NamedConstant> named_constants(const Graph& graph);

}  // namespace wootz
