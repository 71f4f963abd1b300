// A squeeze-and-excitation's gate: the mean of an image and the two products that follow from it, as one node, which a
// step may compute whole; in 8 bits with what quantizes values in between. What multiplies by the gate stays where it
// is. Runs when nothing else changes any more, as fuse_chains does. Where no kernel takes it, it is lowered as three
// steps.
#include <algorithm>

#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// Whether its expression, if it has one, reads nothing beside the result.
bool reads_nothing_else(const Node& node) {
  return !node.has_attr("epilogue") || node.attr_int("main_inputs") == node.num_inputs();
}

// Of 8 bits as they are quantized again, or of floats as they are.
bool is_mean_of_images(const Node& node) {
  if (node.num_outputs() != 1) return false;
  if (is_spatial_mean(node)) return node.attr_int("keepdims", 1) != 0;
  return node.is("Pool") && node.attr_string("kind") == "avg" && node.attr_int("global") != 0 &&
         node.has_attr("x_scale") == node.has_attr("epilogue") && reads_nothing_else(node) &&
         node.input(0)->rank() >= 3;
}

// A product by channels with constant weights, whose expression reads nothing else.
bool is_product(const Node& node) {
  if (!node.is("Conv") || node.num_outputs() != 1 || node.has_attr("w_zero") || node.has_attr("auto_pad")) return false;
  if (node.attr_int("groups", 1) != 1 || node.num_inputs() > 3 || !reads_nothing_else(node)) return false;
  for (int i = 1; i < node.num_inputs(); ++i)
    if (node.input(i) == nullptr || !node.input(i)->is_constant()) return false;
  const Dims& w = node.input(1)->constant().dims();
  const std::vector<int64_t> pads = node.attr_ints("pads");
  for (int axis = 2; axis < w.rank(); ++axis)
    if (w[static_cast<size_t>(axis)] != 1) return false;
  return std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; });
}

}  // namespace

Result<bool> fuse_squeeze_excite(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!is_product(*node)) continue;
    Node* const first = maker_for(node->input(0), *node);
    if (first == nullptr || !is_product(*first)) continue;
    Node* const mean = maker_for(first->input(0), *first);
    if (mean == nullptr || !is_mean_of_images(*mean)) continue;
    const bool scaled = mean->has_attr("x_scale");
    if (first->has_attr("x_scale") != scaled || node->has_attr("x_scale") != scaled) continue;
    Node* const all[] = {mean, first, node};
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, chain_nodes(graph, all));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
