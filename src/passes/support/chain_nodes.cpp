#include "passes/support/chain_nodes.h"

#include <set>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// Without the results of nodes before it.
std::span<Value* const> own_operands(const Node& node, bool first) {
  return std::span(node.inputs()).subspan(first ? 0 : 1);
}

Result<Value*> copy_into(Graph& body, const Node& node, std::vector<Value*> inputs) {
  Node* made = body.add_node(node.op(), node.name(), std::move(inputs), node.attrs());
  made->add_provenance(node);
  made->output()->set_name(node.output()->name());
  for (const std::string& alias : node.output()->aliases()) made->output()->add_alias(alias);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  return made->output();
}

}  // namespace

Result<bool> chain_nodes(Graph& graph, std::span<Node* const> nodes) {
  // One operand, one input of the body: the step's operands are then the node's, in order.
  std::vector<Value*> operands;
  std::set<const Value*> different;
  for (const Node* node : nodes)
    for (Value* v : own_operands(*node, node == nodes.front())) {
      if (v == nullptr || !different.insert(v).second) return false;
      operands.push_back(v);
    }
  Node* const last = nodes.back();
  const auto body = std::make_shared<Graph>(last->name());
  body->share_symbols(graph);
  for (const Value* v : operands) body->add_input(v->name(), v->dtype(), v->shape());
  Value* result = nullptr;
  size_t next = 0;
  for (const Node* node : nodes) {
    std::vector<Value*> inputs;
    if (result != nullptr) inputs.push_back(result);
    for (size_t k = own_operands(*node, result == nullptr).size(); k > 0; --k) inputs.push_back(body->inputs()[next++]);
    WOOTZ_ASSIGN_OR_RETURN(result, copy_into(*body, *node, std::move(inputs)));
  }
  body->mark_output(result);
  Node* made =
      graph.add_node(op("Chain"), graph.unique_name(last->name()), std::move(operands), {{"body", body}}, 1, last);
  for (const Node* node : nodes) made->add_provenance(*node);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  take_place(graph, last->output(), made->output());
  return true;
}

}  // namespace wootz
