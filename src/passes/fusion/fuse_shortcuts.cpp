// Two convolutions whose results are added up, as one node: a step may add up the products of both, and what the one
// makes is neither written nor read. One of them is by single pixels, at any steps: the shortcut of the first block of
// a ResNet's stage. Of 16-bit floats, which is what backends have such steps for. Where no kernel takes it, it is
// lowered as the two steps that it is of.
#include "base/expressions.h"
#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/convolutions.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

bool fits(const Node& node) {
  const DType type = node.output()->dtype();
  return (type == DType::kF16 || type == DType::kBF16) && is_convolution(node) && node.input(0)->dtype() == type &&
         node.attr_int("groups", 1) == 1;
}

// What makes input `i` of `node`, where that is a convolution without an expression that the node's expression adds.
Node* added_by(const Node& node, int i) {
  Node* const made = maker_for(node.input(i), node);
  if (made == nullptr || !fits(*made) || !reads_one_value(*made) || made->has_attr("epilogue") ||
      made->output()->dtype() != node.output()->dtype() || !(made->output()->shape() == node.output()->shape()))
    return nullptr;
  const auto operand = static_cast<uint16_t>(i - static_cast<int>(node.attr_int("main_inputs")) + 1);
  return without_addend(*node.attr_expr("epilogue"), operand) ? made : nullptr;
}

}  // namespace

Result<bool> fuse_shortcuts(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!fits(*node) || !node->has_attr("epilogue")) continue;
    for (auto i = static_cast<int>(node->attr_int("main_inputs")); i < node->num_inputs(); ++i) {
      Node* const other = added_by(*node, i);
      if (other == nullptr || (!is_pointwise_convolution(*node) && !is_pointwise_convolution(*other))) continue;
      Node* const both[] = {other, node};
      WOOTZ_ASSIGN_OR_RETURN(const bool fused, chain_nodes(graph, both));
      changed = changed || fused;
      if (fused) break;
    }
  }
  return changed;
}

}  // namespace wootz
