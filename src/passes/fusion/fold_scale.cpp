#include "ir/op_def.h"
#include "passes/fusion/scale_weights.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// The node as y = factor[c] * x + offset[c] over input `x_index`; false when it is something else.
bool as_affine(const Node& node, int x_index, int rank, int axis, int64_t channels, std::vector<double>* factor,
               std::vector<double>* offset) {
  const std::optional<std::vector<double>> k = per_channel(node.input(1 - x_index), rank, axis, channels);
  if (!k) return false;
  *factor = {1};
  offset->clear();
  if (node.is("Mul")) {
    *factor = *k;
  } else if (node.is("Add")) {
    *offset = *k;
  } else if (node.is("Sub")) {
    *offset = *k;
    if (x_index == 0)
      for (double& v : *offset) v = -v;
    else
      *factor = {-1};
  } else if (node.is("Div") && x_index == 0) {
    *factor = *k;
    for (double& v : *factor) {
      if (v == 0) return false;
      v = 1 / v;
    }
  } else {
    return false;
  }
  return true;
}

}  // namespace

Result<bool> fold_scale(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!has_foldable_weights(*node)) continue;
    while (true) {
      Node* user = only_user(node->output());
      if (user == nullptr || user->num_inputs() != 2 || user->num_outputs() != 1 || user->has_attr("epilogue")) break;
      const int x_index = user->input(0) == node->output() ? 0 : 1;
      if (!(user->output()->shape() == node->output()->shape()) || user->output()->dtype() != node->output()->dtype())
        break;
      std::vector<double> factor, offset;
      if (!as_affine(*user, x_index, node->output()->rank(), channel_axis(*node), weight_channels(*node), &factor,
                     &offset))
        break;
      WOOTZ_RETURN_IF_ERROR(scale_weights(graph, node, factor, offset));
      node->add_provenance(*user);
      if (next == user) next = user->next();
      become_and_erase(graph, user->output(), node->output());
      changed = true;
      if (!has_foldable_weights(*node)) break;
    }
  }
  return changed;
}

}  // namespace wootz
