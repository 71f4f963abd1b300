// A depthwise convolution and the gate of squeeze-and-excitation that follows from its result, as one node with both
// results: a step may then write sums for the mean beside the image, which need not be read again for it. Of 16-bit
// floats or 8-bit grids, which are what backends have such steps for. Runs after fuse_squeeze_excite, which makes the
// gate one node. Where no kernel takes it, it is lowered as the two steps. And in 8 bits the multiplication by a gate
// and the convolution that reads it.
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

// Of 16 bits, or of 8 with a scale, and by constants, whose expression reads nothing else.
bool is_depthwise(const Node& node) {
  const DType type = node.output()->dtype();
  const bool scaled = node.has_attr("x_scale");
  return (scaled ? is_int8(type) : type == DType::kF16 || type == DType::kBF16) && convolves_channels(node) &&
         (scaled ? is_int8(node.input(0)->dtype()) : node.input(0)->dtype() == type) && reads_one_value(node) &&
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

// The multiplication of an image of 8 bits by one value a channel, in 8 bits again.
bool is_byte_gate(const Node& node) {
  if (!node.is("Pointwise") || node.num_outputs() != 1 || node.num_inputs() != 2 || node.output()->rank() != 4 ||
      !is_int8(node.output()->dtype()))
    return false;
  const auto is_image = [&](const Value* v) { return v->shape() == node.output()->shape() && is_int8(v->dtype()); };
  const Value *a = node.input(0), *b = node.input(1);
  return !a->is_constant() && !b->is_constant() && is_image(a) != is_image(b) &&
         is_model_float((is_image(a) ? b : a)->dtype());
}

// Such a multiplication and the convolution by single pixels that alone reads it, which may multiply what it reads.
// (Of floats: fuse_chains.)
Result<bool> join_byte_gates(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!node->has_attr("x_scale") || !convolves_pixels(*node)) continue;
    Node* const gate = maker_for(node->input(0), *node);
    if (gate == nullptr || !is_byte_gate(*gate)) continue;
    Node* const both[] = {gate, node};
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, chain_nodes(graph, both));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace

Result<bool> fuse_gates(Graph& graph) {
  WOOTZ_ASSIGN_OR_RETURN(bool changed, join_byte_gates(graph));
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
