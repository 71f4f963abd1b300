// Nodes as one, of op Chain.
#pragma once

#include <span>

#include "ir/graph.h"

namespace wootz {

// Puts a Chain in the place of the nodes, which are in the graph's order; the results of all but the last are read by
// nodes after them, and by nothing else; with `keeps_first` the first's by others too, which stand after the last: it
// becomes the chain's second result. False, and an untouched graph: an operand is missing or twice among theirs.
Result<bool> chain_nodes(Graph& graph, std::span<Node* const> nodes, bool keeps_first = false);

// Puts a Chain in the place of `first`, which others may read too, and of `second`, which reads its one result and
// constants: the results are the second's, then the first's. False, and an untouched graph: an operand is missing or
// twice among theirs.
Result<bool> chain_at_first(Graph& graph, Node* first, Node* second);

// Puts a Chain in the place of the nodes, in this order, which is one of the graph's, where the last of them stands;
// `results` are all that others read of them, after that place. `operands`: what they read but do not make. False,
// and an untouched graph: one of these is twice among them.
Result<bool> enclose_nodes(Graph& graph, std::span<Node* const> nodes, std::vector<Value*> operands,
                           const std::vector<Value*>& results);

// Puts `node`, whose result is the first operand of `chain` and nothing else, in front of the nodes in its body. False,
// and untouched graph: an operand is missing or twice among theirs.
Result<bool> chain_in_front(Graph& graph, Node* node, Node* chain);

// Puts a Chain in the place of nodes alike, of one result each, where the first stands. Their first `shared` operands
// are the same, further ones are constants. The Chain's operands are those, and then of each node its own. False, and
// an untouched graph: an operand is missing or twice among these.
Result<bool> group_siblings(Graph& graph, std::span<Node* const> nodes, size_t shared);

}  // namespace wootz
