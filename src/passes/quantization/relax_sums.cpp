// The rounding of a convolution's result to 8 bits in front of an addition goes away: the sum takes the result as it
// is, in the same step. Nearer to the model in float, and cheaper; not to the bit what the rounded model computes, so
// that a build runs this only where it may choose precisions. Products gain nothing by it (BERT-Base, measured).
#include <cmath>

#include "passes/pass.h"
#include "passes/quantization/qdq.h"
#include "passes/support/places.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

bool is_convolution(const Value& value) {
  const Node* const made = value.producer();
  return made != nullptr && made->op().lowering == Lowering::kConv && value.uses().size() == 1;
}

// A grid whose end is near 0 stands for a ReLU that was left out of the model: its rounding is a part of the meaning.
bool reaches_both_sides(const QuantGrid& grid) {
  const double low = grid.type == DType::kI8 ? -128 : 0;
  return grid.per_tensor && std::fabs(grid.z - (low + 128)) <= 64;
}

// The Quantize of a convolution's result which the addition's operand goes through, and nothing else reads; null: none.
Node* rounding_of(const Node& add, int operand) {
  Node* const back = maker_for(add.input(operand), add);
  if (back == nullptr || !back->is("Dequantize")) return nullptr;
  Node* const rounded = maker_for(back->input(0), *back);
  if (rounded == nullptr || !rounded->is("Quantize")) return nullptr;
  const std::optional<QuantGrid> from = read_grid(*rounded), to = read_grid(*back);
  if (!from || !to || !same_grid(*from, *to) || !reaches_both_sides(*from)) return nullptr;
  const Value* exact = rounded->input(0);
  return exact->shape() == add.output()->shape() && is_convolution(*exact) ? rounded : nullptr;
}

}  // namespace

Result<bool> relax_sums(Graph& graph) {
  bool changed = false;
  const Places places = places_of(graph);
  for (Node* node : graph.nodes()) {
    if (!node->is("Add") || node->has_attr("epilogue")) continue;
    if (is_convolution(*node->input(0)) || is_convolution(*node->input(1))) continue;
    // The later one: it is the one whose step takes the addition.
    Node *const first = rounding_of(*node, 0), *const second = rounding_of(*node, 1);
    if (first == nullptr && second == nullptr) continue;
    const int which = first == nullptr || (second != nullptr && places.at(second) > places.at(first)) ? 1 : 0;
    Node* const back = node->input(which)->producer();
    node->set_input(which, (which == 0 ? first : second)->input(0));
    erase_if_dead(graph, back);
    changed = true;
  }
  return changed;
}

}  // namespace wootz
