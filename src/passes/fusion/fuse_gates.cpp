// A depthwise convolution and the gate of squeeze-and-excitation that follows from its result, as one node with both
// results: a step may then write sums for the mean beside the image, which need not be read again for it. Of 16-bit
// floats, which are what backends have such steps for. Runs after fuse_squeeze_excite, which makes the gate one node.
// Where no kernel takes it, it is lowered as the two steps.
#include <algorithm>

#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/convolutions.h"
#include "passes/support/places.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// What fuse_squeeze_excite makes: a mean and two products.
bool is_gate(const Node& node) {
  const std::shared_ptr<Graph> body = node.is("Chain") ? node.attr_graph("body") : nullptr;
  if (body == nullptr || body->num_nodes() != 3 || node.num_outputs() != 1) return false;
  const Node &mean = *body->first(), &second = *body->last();
  return (mean.is("Pool") || mean.is("Reduce")) && mean.num_inputs() >= 1 && mean.input(0) == body->inputs()[0] &&
         mean.next()->is("Conv") && second.is("Conv");
}

// Of 16 bits and by constants, whose expression reads nothing else.
bool is_depthwise(const Node& node) {
  const DType type = node.output()->dtype();
  return (type == DType::kF16 || type == DType::kBF16) && is_depthwise_convolution(node) &&
         node.input(0)->dtype() == type && reads_one_value(node) &&
         (!node.has_attr("epilogue") || node.attr_int("main_inputs") == node.num_inputs());
}

// Whether other nodes read the image too, and only after the gate, where the node is to stand.
bool is_kept_after(const Graph& graph, const Value* image, const Node& gate, const Places& places) {
  const auto at = places.find(&gate);
  if (graph.is_output(image) || image->uses().size() < 2 || at == places.end()) return false;
  return std::all_of(image->uses().begin(), image->uses().end(), [&](const Use& use) {
    const auto own = places.find(use.node);
    return use.node == &gate || (own != places.end() && own->second > at->second);
  });
}

}  // namespace

Result<bool> fuse_gates(Graph& graph) {
  bool changed = false;
  const Places places = places_of(graph);
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!is_gate(*node)) continue;
    Node* const conv = node->input(0)->producer();
    if (conv == nullptr || !is_depthwise(*conv) || !is_kept_after(graph, conv->output(), *node, places)) continue;
    Node* const both[] = {conv, node};
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, chain_nodes(graph, both, true));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
