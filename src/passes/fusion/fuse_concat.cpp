// An expression after a concatenation, as one node with it, which a step may compute whole: what is concatenated then
// is never read back, and where the expression alone reads it, never written. Runs when nothing else changes any more,
// as fuse_chains does. Where no kernel takes it, it is lowered as two steps.
#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// The concatenation that the expression alone reads, element for element.
Node* concat_for(const Node& pointwise) {
  if (!pointwise.is("Pointwise") || pointwise.num_outputs() != 1) return nullptr;
  for (const Value* operand : pointwise.inputs()) {
    Node* node = operand == nullptr ? nullptr : operand->producer();
    if (node != nullptr && node->is("Concat") && node->num_inputs() > 1 && only_user(operand) == &pointwise &&
        operand->uses().size() == 1 && operand->shape() == pointwise.output()->shape() && !operand->shape_values())
      return node;
  }
  return nullptr;
}

}  // namespace

Result<bool> fuse_concat(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    Node* const concat = concat_for(*node);
    if (concat == nullptr) continue;
    Node* const both[] = {concat, node};
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, chain_nodes(graph, both));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
