// A convolution (of an image, with the cast in front of it: fuse_stem) and the pooling after it, a depthwise and a
// pointwise convolution, an expression (the gate of a squeeze-and-excitation, say) and the pointwise convolution that
// reads it: one node, which a step may compute by pieces, so that the tensor between the two stays in the cache. Runs
// when nothing else changes any more, since what is inside a chain is out of the other passes' sight. A backend that
// does not offer it computes the two one by one. Not in 8 bits, where the tensor between the two is a quarter of the
// size, and the GEMMs' parameters stay in sight.
#include <algorithm>

#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/convolutions.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// An image's cast, say, and the convolution that reads it (fuse_stem).
bool is_stem(const Node& node) {
  const std::shared_ptr<Graph> body = node.is("Chain") ? node.attr_graph("body") : nullptr;
  if (body == nullptr || body->outputs().size() != 1) return false;
  const Node* const last = body->outputs()[0]->producer();
  return last != nullptr && is_plain_window(*last, "Conv") && last->input(0)->producer() == body->first() &&
         body->first()->next() == last && body->first()->num_inputs() == 1;
}

// With an operand of the result's extents, whose rows a step can go through.
bool is_expression(const Node& node) {
  if (!node.is("Pointwise") || node.num_outputs() != 1 || node.output()->rank() != 4) return false;
  return std::any_of(node.inputs().begin(), node.inputs().end(), [&](const Value* v) {
    return v != nullptr && !v->is_constant() && v->shape() == node.output()->shape();
  });
}

bool is_pooling(const Node& node) {
  return is_plain_window(node, "Pool") && node.attr_int("global") == 0 && node.attr_string("kind") != "lp";
}

bool go_together(const Node& first, const Node& second) {
  return (is_pooling(second) && (is_convolution(first) || is_stem(first))) ||
         ((is_depthwise_convolution(first) || is_expression(first)) && is_pointwise_convolution(second)) ||
         (is_pointwise_convolution(first) && is_depthwise_convolution(second));
}

}  // namespace

Result<bool> fuse_chains(Graph& graph) {
  bool changed = false;
  // A depthwise convolution stands between two pointwise ones as a rule: it goes with the one after it.
  for (const bool before : {false, true}) {
    for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
      next = node->next();
      Node* const first = maker_for(node->input(0), *node);
      if (first == nullptr || (!before && is_depthwise_convolution(*node)) || !go_together(*first, *node)) continue;
      Node* const both[] = {first, node};
      WOOTZ_ASSIGN_OR_RETURN(const bool fused, chain_nodes(graph, both));
      changed = changed || fused;
    }
  }
  return changed;
}

}  // namespace wootz
