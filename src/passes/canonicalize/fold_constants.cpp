#include <algorithm>

#include "ops/interpreter.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

bool known(const Node& node) {
  if (!node.op().traits.foldable || node.op().traits.has_side_effects) return false;
  return std::all_of(node.inputs().begin(), node.inputs().end(),
                     [](const Value* in) { return in == nullptr || in->is_constant(); });
}

bool may_fold(const Node& node) {
  if (!known(node)) return false;
  // Weights stay in 8 bits or less for the kernels that compute in them; fold_dequantize takes what is left.
  if (node.is("Dequantize") && dtype_bits(node.input(0)->dtype()) <= 8) return false;
  size_t in_bytes = 0, out_bytes = 0;
  for (const Value* in : node.inputs())
    if (in != nullptr) in_bytes += in->constant().bytes();
  for (const Value* out : node.outputs()) {
    const std::optional<Dims> dims = to_dims(out->shape());
    if (dims) out_bytes += dtype_bytes(out->dtype(), dims->volume());
  }
  // Expanding a small constant into a large one costs plan size and memory for nothing.
  return out_bytes <= limits::kMaxFoldedBytes && (out_bytes <= (size_t{1} << 16) || out_bytes <= 2 * in_bytes);
}

// Outputs whose elements are all known numbers, though the inputs are not constants (Shape of a static tensor).
Result<bool> fold_shape_values(Graph& graph, Node* node) {
  bool changed = false;
  if (node->op().traits.has_side_effects) return changed;
  for (Value* out : node->outputs()) {
    if (!out->shape_values() || out->uses().empty()) continue;
    const std::optional<Dims> dims = to_dims(out->shape());
    if (!dims || static_cast<size_t>(dims->volume()) != out->shape_values()->size()) continue;
    const auto known = [](const Dim& d) { return d.is_const(); };
    if (!std::all_of(out->shape_values()->begin(), out->shape_values()->end(), known)) continue;
    WOOTZ_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(out->dtype(), *dims));
    for (size_t i = 0; i < out->shape_values()->size(); ++i)
      tensor.set_i64(static_cast<int64_t>(i), (*out->shape_values())[i].value());
    Value* constant = graph.add_constant(graph.unique_name(out->name()), std::move(tensor));
    const bool output = graph.is_output(out);
    if (output) continue;  // outputs keep their step: cheap, and the name stays
    graph.replace_all_uses(out, constant);
    changed = true;
  }
  if (changed) erase_if_dead(graph, node);
  return changed;
}

// The results of a node of known inputs, as constants in its place.
Status fold(Graph& graph, Node* node) {
  std::vector<const HostTensor*> inputs;
  for (const Value* in : node->inputs()) inputs.push_back(in == nullptr ? nullptr : &in->constant());
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<HostTensor> results, run_node(*node, inputs));
  for (const HostTensor* input : inputs)
    if (input != nullptr) input->release_pages();
  for (int o = 0; o < node->num_outputs(); ++o) {
    Value* out = node->output(o);
    if (out->uses().empty() && !graph.is_output(out)) continue;
    std::string name = out->name();
    out->set_name(graph.unique_name(name));
    graph.replace_all_uses(out, graph.add_constant(std::move(name), results[static_cast<size_t>(o)]));
  }
  graph.erase(node);
  return Status();
}

}  // namespace

Result<bool> fold_node(Graph& graph, Node* node) {
  if (!known(*node)) return false;
  WOOTZ_RETURN_IF_ERROR(fold(graph, node));
  return true;
}

Result<bool> fold_constants(Graph& graph) {
  bool changed = false;
  // Nodes come in order, so what a fold makes constant is seen by the nodes after it. A node may die with another's
  // fold.
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!may_fold(*node)) {
      WOOTZ_ASSIGN_OR_RETURN(const bool folded, fold_shape_values(graph, node));
      changed = changed || folded;
      continue;
    }
    WOOTZ_RETURN_IF_ERROR(fold(graph, node));
    changed = true;
  }
  return changed;
}

}  // namespace wootz
