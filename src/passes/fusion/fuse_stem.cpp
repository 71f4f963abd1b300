// An expression that makes bytes or 16-bit floats of an image, and the convolution of few channels that reads them, as
// networks of images begin with: one node, which a step may compute whole. Runs when nothing else changes any more, as
// fuse_chains does. Where no kernel takes it, it is lowered as two steps.
#include "base/dtype.h"
#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr int64_t kMostChannels = 4;

bool is_narrow(DType type) { return is_int8(type) || type == DType::kF16 || type == DType::kBF16; }

// Of the image alone, in another type.
bool makes_narrow(const Node& node) {
  return (node.is("Pointwise") || node.is("Cast")) && node.num_outputs() == 1 && node.num_inputs() == 1 &&
         is_narrow(node.output()->dtype()) && node.input(0)->dtype() != node.output()->dtype() &&
         !(is_int8(node.output()->dtype()) && is_int8(node.input(0)->dtype()));
}

bool is_stem(const Node& node) {
  if (!node.is("Conv") || node.num_outputs() != 1 || node.input(0) == nullptr || node.has_attr("auto_pad"))
    return false;
  if (is_int8(node.input(0)->dtype()) != node.has_attr("x_scale")) return false;
  const Value* const w = node.input(1);
  return w != nullptr && w->is_constant() && w->rank() == 4 && w->constant().dims()[1] <= kMostChannels &&
         node.attr_int("groups", 1) == 1;
}

}  // namespace

Result<bool> fuse_stem(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!is_stem(*node)) continue;
    Node* const first = maker_for(node->input(0), *node);
    if (first == nullptr || !makes_narrow(*first)) continue;
    Node* const both[] = {first, node};
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, chain_nodes(graph, both));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
