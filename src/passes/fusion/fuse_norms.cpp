// A normalization of rows and the product of 16-bit floats that reads them: one node, which a step may compute whole,
// since a product can take mean and deviation of its rows out of its sums. Where others read the normalized rows too,
// as the residual of a transformer's block, they are the node's second result. Likewise a product by packed weights, or
// siblings of that kind, as a decoder has them, whose rows are so few that each block of a product may normalize them
// for itself. Runs when nothing else changes any more, as fuse_chains does. Where no kernel takes it, it is lowered as
// two steps.
#include <algorithm>

#include "ops/infer.h"
#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/places.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// Of lines along the last axis, by constants.
bool is_plain_norm(const Node& node) {
  if ((!node.is("LayerNorm") && !node.is("RMSNorm")) || node.num_outputs() != 1 || node.has_attr("epilogue"))
    return false;
  const int rank = node.input(0)->rank();
  const int64_t axis = node.attr_int("axis", -1);
  const auto is_constant = [](const Value* v) { return v != nullptr && v->is_constant() && v->rank() == 1; };
  return rank >= 2 && (axis == -1 || axis == rank - 1) && node.input(0)->dtype() == node.output()->dtype() &&
         std::all_of(node.inputs().begin() + 1, node.inputs().end(), is_constant);
}

bool is_product_of(const Node& node, const Value* rows) {
  return (node.is("MatMul") || node.is("WeightOnlyMatMul")) && node.num_outputs() == 1 && !node.has_attr("x_scale") &&
         node.attr_int("trans_a", 0) == 0 && node.input(0) == rows && node.input(1) != nullptr &&
         node.input(1)->is_constant() && node.input(1)->rank() == 2 &&
         std::count(node.inputs().begin(), node.inputs().end(), rows) == 1;
}

// The one product among the readers of `rows`, which stands in front of all others; null: there is none.
Node* first_product(const Graph& graph, const Value* rows, const Places& places) {
  if (graph.is_output(rows)) return nullptr;
  Node* product = nullptr;
  for (const Use& use : rows->uses())
    if (is_product_of(*use.node, rows)) {
      if (product != nullptr) return nullptr;
      product = use.node;
    }
  const auto place = [&](const Node* node) {
    const auto at = places.find(node);
    return at == places.end() ? -1 : at->second;
  };
  if (product == nullptr || place(product) < 0) return nullptr;
  if (product->is("WeightOnlyMatMul") && rows->uses().size() > 1) return nullptr;
  for (const Use& use : rows->uses())
    if (use.node != product && place(use.node) <= place(product)) return nullptr;
  return product;
}

// What join_siblings made of products by packed weights, which alone read these rows; null: it is none.
Node* siblings_of(const Value* rows) {
  Node* const chain = rows->uses().size() == 1 ? only_user(rows) : nullptr;
  const std::shared_ptr<Graph> body = chain == nullptr || !chain->is("Chain") ? nullptr : chain->attr_graph("body");
  if (body == nullptr || chain->input(0) != rows) return nullptr;
  for (const Node* node = body->first(); node != nullptr; node = node->next())
    if (!node->is("WeightOnlyMatMul") || node->input(0) != body->inputs()[0]) return nullptr;
  return chain;
}

// A normalization whose rows a product reads as a view of other leading axes is one of such a view; otherwise the node
// itself. The product is found as before.
Result<Node*> of_view(Graph& graph, Node* norm, const Places& places) {
  Value* const rows = norm->output();
  Node* const view = only_user(rows);
  const auto is_constant = [](const Value* v) { return v != nullptr && v->is_constant(); };
  if (view == nullptr || !is_view(*view) || view->input(0) != rows || view->output()->rank() < 2 ||
      !(view->output()->shape().back() == rows->shape().back()) ||
      !std::all_of(view->inputs().begin() + 1, view->inputs().end(), is_constant) ||
      first_product(graph, view->output(), places) == nullptr)
    return norm;
  std::vector<Value*> inputs = view->inputs();
  inputs[0] = norm->input(0);
  Node* const source = graph.add_node(view->op(), graph.unique_name(view->name()), inputs, view->attrs(), 1, view);
  source->add_provenance(*view);
  WOOTZ_RETURN_IF_ERROR(infer_node(*source));
  inputs = norm->inputs();
  inputs[0] = source->output();
  AttrMap attrs = norm->attrs();
  attrs["axis"] = int64_t{-1};
  Node* const made = graph.add_node(norm->op(), graph.unique_name(norm->name()), inputs, std::move(attrs), 1, view);
  made->add_provenance(*norm);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  take_place(graph, view->output(), made->output());
  return made;
}

}  // namespace

Result<bool> fuse_norms(Graph& graph) {
  bool changed = false;
  const Places places = places_of(graph);
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    const DType type =
        node->num_outputs() == 1 && node->output() != nullptr ? node->output()->dtype() : DType::kInvalid;
    if ((type != DType::kF16 && type != DType::kBF16) || !is_plain_norm(*node)) continue;
    if (Node* const siblings = siblings_of(node->output())) {
      if (next == siblings) next = siblings->next();
      WOOTZ_ASSIGN_OR_RETURN(const bool fused, chain_in_front(graph, node, siblings));
      changed = changed || fused;
      continue;
    }
    Node* product = first_product(graph, node->output(), places);
    if (product == nullptr) {
      WOOTZ_ASSIGN_OR_RETURN(Node* const moved, of_view(graph, node, places));
      if (moved == node) continue;
      changed = true;
      node = moved;
      product = first_product(graph, node->output(), places);
      next = product == nullptr ? node->next() : product->next();
    }
    if (product == nullptr) continue;
    if (next == product) next = product->next();
    Node* const both[] = {node, product};
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, chain_nodes(graph, both, node->output()->uses().size() > 1));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
