#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {

Result<bool> eliminate_dead(Graph& graph) {
  const int before = graph.num_nodes();
  std::vector<Node*> nodes = graph.nodes();
  // From the back: a reader goes before what it reads, so each node is looked at once.
  for (size_t i = nodes.size(); i-- > 0;) {
    Node* node = nodes[i];
    if (node->op().traits.has_side_effects) continue;
    bool read = false;
    for (const Value* out : node->outputs()) read = read || !out->uses().empty() || graph.is_output(out);
    if (!read) graph.erase(node);
  }
  for (Value* constant : graph.constants())
    if (constant->uses().empty() && !graph.is_output(constant)) graph.erase_value(constant);
  return graph.num_nodes() != before;
}

}  // namespace wootz
