#include <cmath>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/fusion/scale_weights.h"
#include "passes/pass.h"
#include "passes/support/replacement.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

Result<HostTensor> parameters(DType dtype, const std::vector<double>& values, const Dims& dims) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(dtype, dims));
  for (size_t i = 0; i < values.size(); ++i) tensor.set_f64(static_cast<int64_t>(i), values[i]);
  return tensor;
}

// The parameters vary along the axis of the convolution's channels, and along no other.
bool along_channels(const Node& node, const Node& producer) {
  const int rank = producer.output()->rank();
  for (int i = 1; i < 5; ++i)
    if (const auto values = per_channel(node.input(i), rank, channel_axis(producer), weight_channels(producer));
        !values || static_cast<int64_t>(values->size()) != weight_channels(producer))
      return false;
  return true;
}

}  // namespace

Result<bool> fold_batch_norm(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    if (!node->is("BatchNorm") || node->num_outputs() != 1) continue;
    bool constant = true;
    for (int i = 1; i < 5; ++i) constant = constant && node->input(i) != nullptr && node->input(i)->is_constant();
    // Usually one number a channel; a transpose that moved past may have permuted them.
    const auto same_dims = [&](int i) {
      return node->input(i)->constant().dims() == node->input(1)->constant().dims();
    };
    if (!constant || !same_dims(2) || !same_dims(3) || !same_dims(4)) continue;
    const Dims dims = node->input(1)->constant().dims();
    const auto value = [&](int i, int64_t c) { return node->input(i)->constant().get_f64(c); };
    std::vector<double> factor, offset;
    const double epsilon = node->attr_float("epsilon", 1e-5);
    for (int64_t c = 0; c < node->input(1)->constant().volume(); ++c) {
      factor.push_back(value(1, c) / std::sqrt(value(4, c) + epsilon));
      offset.push_back(value(2, c) - value(3, c) * factor.back());
    }
    Node* producer = node->input(0)->producer();
    if (producer != nullptr && only_user(node->input(0)) == node && !producer->is("MatMul") &&
        has_foldable_weights(*producer) && along_channels(*node, *producer)) {
      WOOTZ_RETURN_IF_ERROR(scale_weights(graph, producer, factor, offset));
      producer->add_provenance(*node);
      become_and_erase(graph, node->output(), producer->output());
    } else {
      const DType dtype = node->input(0)->dtype();
      WOOTZ_ASSIGN_OR_RETURN(HostTensor scale, parameters(dtype, factor, dims));
      WOOTZ_ASSIGN_OR_RETURN(HostTensor shift, parameters(dtype, offset, dims));
      Replacement replacement(graph, node);
      Value* scaled = replacement.mul(node->input(0), replacement.constant(std::move(scale)));
      Value* shifted = replacement.add(scaled, replacement.constant(std::move(shift)));
      if (replacement.failed()) return replacement.status();
      replace_and_erase(graph, node->output(), shifted);
    }
    changed = true;
  }
  return changed;
}

}  // namespace wootz
