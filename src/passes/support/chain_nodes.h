// Consecutive nodes as one, of op Chain.
#pragma once

#include <span>

#include "ir/graph.h"

namespace wootz {

// Puts a Chain in the place of the nodes, each of which but the first reads the one before as its input 0, whose only
// reader it is. False, and an untouched graph: an operand is missing or twice among theirs.
Result<bool> chain_nodes(Graph& graph, std::span<Node* const> nodes);

}  // namespace wootz
