#include "passes/support/chain_nodes.h"

#include <unordered_map>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

Result<Value*> copy_into(Graph& body, const Node& node, std::vector<Value*> inputs) {
  Node* made = body.add_node(node.op(), node.name(), std::move(inputs), node.attrs());
  made->add_provenance(node);
  made->output()->set_name(node.output()->name());
  for (const std::string& alias : node.output()->aliases()) made->output()->add_alias(alias);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  return made->output();
}

// What the nodes read but do not make, in order; nothing: one is missing, or twice among them.
std::vector<Value*> operands_of(std::span<Node* const> nodes) {
  std::unordered_map<const Value*, bool> known;
  for (const Node* node : nodes) known[node->output()] = true;
  std::vector<Value*> operands;
  for (const Node* node : nodes)
    for (Value* v : node->inputs()) {
      if (v == nullptr) return {};
      const auto [at, fresh] = known.try_emplace(v, false);
      if (at->second) continue;
      if (!fresh) return {};
      operands.push_back(v);
    }
  return operands;
}

}  // namespace

Result<bool> chain_nodes(Graph& graph, std::span<Node* const> nodes, bool keeps_first) {
  // One operand, one input of the body: the step's operands are then the node's, in order.
  std::vector<Value*> operands = operands_of(nodes);
  if (operands.empty()) return false;
  Node* const last = nodes.back();
  const auto body = std::make_shared<Graph>(last->name());
  body->share_symbols(graph);
  std::unordered_map<const Value*, Value*> inside;
  for (const Value* v : operands) inside[v] = body->add_input(v->name(), v->dtype(), v->shape());
  for (const Node* node : nodes) {
    std::vector<Value*> inputs;
    for (const Value* v : node->inputs()) inputs.push_back(inside.at(v));
    WOOTZ_ASSIGN_OR_RETURN(inside[node->output()], copy_into(*body, *node, std::move(inputs)));
  }
  body->mark_output(inside.at(last->output()));
  if (keeps_first) body->mark_output(inside.at(nodes[0]->output()));
  Node* made = graph.add_node(op("Chain"), graph.unique_name(last->name()), std::move(operands), {{"body", body}},
                              keeps_first ? 2 : 1, last);
  for (const Node* node : nodes) made->add_provenance(*node);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  Value* const kept = keeps_first ? nodes[0]->output() : nullptr;
  take_place(graph, last->output(), made->output());
  if (kept != nullptr) take_place(graph, kept, made->output(1));
  return true;
}

}  // namespace wootz
