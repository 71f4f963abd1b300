#include "passes/support/chain_nodes.h"

#include <set>
#include <unordered_map>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

Result<Node*> copy_node(Graph& body, const Node& node, std::vector<Value*> inputs) {
  Node* made = body.add_node(node.op(), node.name(), std::move(inputs), node.attrs(), node.num_outputs());
  made->add_provenance(node);
  for (int o = 0; o < node.num_outputs(); ++o) {
    made->output(o)->set_name(node.output(o)->name());
    for (const std::string& alias : node.output(o)->aliases()) made->output(o)->add_alias(alias);
  }
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  return made;
}

Result<Value*> copy_into(Graph& body, const Node& node, std::vector<Value*> inputs) {
  WOOTZ_ASSIGN_OR_RETURN(Node * made, copy_node(body, node, std::move(inputs)));
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

// Puts the nodes into the body of a Chain by the name of `named`, in front of `before`; it has these results of theirs.
Status enclose(Graph& graph, std::span<Node* const> nodes, std::vector<Value*> operands,
               const std::vector<Value*>& results, const Node& named, Node* before) {
  const auto body = std::make_shared<Graph>(named.name());
  body->share_symbols(graph);
  std::unordered_map<const Value*, Value*> inside;
  for (const Value* v : operands) inside[v] = body->add_input(v->name(), v->dtype(), v->shape());
  for (const Node* node : nodes) {
    std::vector<Value*> inputs;
    for (const Value* v : node->inputs()) inputs.push_back(inside.at(v));
    WOOTZ_ASSIGN_OR_RETURN(Node * made, copy_node(*body, *node, std::move(inputs)));
    for (int o = 0; o < node->num_outputs(); ++o) inside[node->output(o)] = made->output(o);
  }
  for (const Value* v : results) body->mark_output(inside.at(v));
  Node* made = graph.add_node(op("Chain"), graph.unique_name(named.name()), std::move(operands), {{"body", body}},
                              static_cast<int>(results.size()), before);
  for (const Node* node : nodes) made->add_provenance(*node);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  // From the end: the last node's is the first of them where it reads the others, which go when nothing does.
  for (size_t o = results.size(); o-- > 0;) take_place(graph, results[o], made->output(static_cast<int>(o)));
  return {};
}

}  // namespace

Result<bool> chain_nodes(Graph& graph, std::span<Node* const> nodes, bool keeps_first) {
  // One operand, one input of the body: the step's operands are then the node's, in order.
  std::vector<Value*> operands = operands_of(nodes);
  if (operands.empty()) return false;
  Node* const last = nodes.back();
  std::vector<Value*> results{last->output()};
  if (keeps_first) results.push_back(nodes[0]->output());
  WOOTZ_RETURN_IF_ERROR(enclose(graph, nodes, std::move(operands), results, *last, last));
  return true;
}

Result<bool> chain_at_first(Graph& graph, Node* first, Node* second) {
  Node* const both[] = {first, second};
  std::vector<Value*> operands = operands_of(both);
  if (operands.empty()) return false;
  WOOTZ_RETURN_IF_ERROR(enclose(graph, both, std::move(operands), {second->output(), first->output()}, *second, first));
  return true;
}

Result<bool> enclose_nodes(Graph& graph, std::span<Node* const> nodes, std::vector<Value*> operands,
                           const std::vector<Value*>& results) {
  const std::set<const Value*> different(operands.begin(), operands.end());
  if (different.size() != operands.size() || different.count(nullptr) != 0) return false;
  Node* const last = nodes.back();
  WOOTZ_RETURN_IF_ERROR(enclose(graph, nodes, std::move(operands), results, *last, last));
  return true;
}

Result<bool> chain_in_front(Graph& graph, Node* node, Node* chain) {
  const std::shared_ptr<Graph> old = chain->attr_graph("body");
  std::vector<Value*> operands = node->inputs();
  operands.insert(operands.end(), chain->inputs().begin() + 1, chain->inputs().end());
  const std::set<const Value*> different(operands.begin(), operands.end());
  if (different.size() != operands.size() || different.count(nullptr) != 0) return false;
  const auto body = std::make_shared<Graph>(old->name());
  body->share_symbols(graph);
  std::unordered_map<const Value*, Value*> inside;
  std::vector<Value*> given;
  for (const Value* v : operands) given.push_back(body->add_input(v->name(), v->dtype(), v->shape()));
  const auto own = given.begin() + node->num_inputs();
  WOOTZ_ASSIGN_OR_RETURN(inside[old->inputs()[0]], copy_into(*body, *node, {given.begin(), own}));
  for (size_t i = 1; i < old->inputs().size(); ++i) inside[old->inputs()[i]] = own[static_cast<ptrdiff_t>(i) - 1];
  for (const Node* each = old->first(); each != nullptr; each = each->next()) {
    std::vector<Value*> inputs;
    for (const Value* v : each->inputs()) inputs.push_back(inside.at(v));
    WOOTZ_ASSIGN_OR_RETURN(inside[each->output()], copy_into(*body, *each, std::move(inputs)));
  }
  for (const Value* v : old->outputs()) body->mark_output(inside.at(v));
  Node* made = graph.add_node(op("Chain"), graph.unique_name(chain->name()), std::move(operands), {{"body", body}},
                              chain->num_outputs(), chain);
  made->add_provenance(*node);
  made->add_provenance(*chain);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  const std::vector<Value*> results(chain->outputs().begin(), chain->outputs().end());
  for (size_t o = 0; o < results.size(); ++o) take_place(graph, results[o], made->output(static_cast<int>(o)));
  return true;
}

Result<bool> group_siblings(Graph& graph, std::span<Node* const> nodes, size_t shared) {
  std::vector<Value*> operands, results;
  for (const Node* node : nodes) {
    const std::vector<Value*>& inputs = node->inputs();
    operands.insert(operands.end(), inputs.begin() + (results.empty() ? 0 : static_cast<ptrdiff_t>(shared)),
                    inputs.end());
    results.push_back(node->output());
  }
  const std::set<const Value*> different(operands.begin(), operands.end());
  if (different.size() != operands.size() || different.count(nullptr) != 0) return false;
  WOOTZ_RETURN_IF_ERROR(enclose(graph, nodes, std::move(operands), results, *nodes[0], nodes[0]));
  return true;
}

}  // namespace wootz
