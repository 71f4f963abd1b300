#include "ops/infer.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {

Result<bool> expand_compositions(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    if (node->op().expand == nullptr) continue;
    WOOTZ_RETURN_IF_ERROR(node->op().expand(graph, *node));
    changed = true;
  }
  return changed;
}

}  // namespace wootz
