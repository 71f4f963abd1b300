// Nodes as one, of op Chain.
#pragma once

#include <span>

#include "ir/graph.h"

namespace wootz {

// Puts a Chain in the place of the nodes, which are in the graph's order; the results of all but the last are read by
// nodes after them, and by nothing else. False, and an untouched graph: an operand is missing or twice among theirs.
Result<bool> chain_nodes(Graph& graph, std::span<Node* const> nodes);

}  // namespace wootz
