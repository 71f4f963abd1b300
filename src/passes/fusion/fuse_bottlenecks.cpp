// A convolution of few channels and the one of single pixels that alone reads it, as a bottleneck of an image network
// ends with (its shortcut is an operand of the second), as one node: a step may keep what is in between. Of 16-bit
// floats and of many pixels, which is what backends have such steps for. Where no kernel takes it, it is lowered as the
// two steps.
#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/convolutions.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// Of 16 bits, in one group, at steps of 1.
bool fits(const Node& node) {
  const DType type = node.output()->dtype();
  if ((type != DType::kF16 && type != DType::kBF16) || !is_convolution(node) || node.input(0)->dtype() != type ||
      node.attr_int("groups", 1) != 1)
    return false;
  for (const char* name : {"strides", "dilations"})
    for (const int64_t step : node.attr_ints(name))
      if (step != 1) return false;
  return true;
}

// Whose expression reads constants alone.
bool is_first(const Node& node) { return fits(node) && !is_pointwise_convolution(node) && reads_one_value(node); }

bool is_second(const Node& node) { return fits(node) && is_pointwise_convolution(node); }

// The weights of both stay where a block computes, and there are tiles of 8 by 8 pixels for most blocks.
bool is_worth_it(const Node& first, const Node& second) {
  constexpr int64_t kMostWeights = 100 << 10, kLeastTiles = 64, kSide = 8;
  const Dims &w = first.input(1)->constant().dims(), &v = second.input(1)->constant().dims();
  if (w.volume() + v.volume() > kMostWeights) return false;
  const Shape& shape = second.output()->shape();
  for (const size_t axis : {0, 2, 3})
    if (!shape[axis].is_const()) return true;
  const auto tiles = [&](size_t axis) { return (shape[axis].value() + kSide - 1) / kSide; };
  return shape[0].value() * tiles(2) * tiles(3) >= kLeastTiles;
}

}  // namespace

Result<bool> fuse_bottlenecks(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    Node* const first = maker_for(node->input(0), *node);
    if (first == nullptr || !is_second(*node) || !is_first(*first) || !is_worth_it(*first, *node)) continue;
    Node* const both[] = {first, node};
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, chain_nodes(graph, both));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
