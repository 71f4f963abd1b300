// Dequantized constants that no int8 kernel reads become float constants: better than dequantizing them in every run.
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {

Result<bool> fold_dequantize(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    if (!node->is("Dequantize") || graph.is_output(node->output())) continue;
    const std::optional<Dims> dims = to_dims(node->output()->shape());
    if (!dims || dtype_bytes(node->output()->dtype(), dims->volume()) > limits::kMaxFoldedBytes) continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool folded, fold_node(graph, node));
    changed = changed || folded;
  }
  return changed;
}

}  // namespace wootz
