// An attention and the concatenations that make its keys and values (join_concats), as one node, which a step may
// compute at once: it reads every row of the caches anyway, and writes them on its way where others read the
// concatenations. Runs when nothing else changes any more, as fuse_chains does. Where no kernel takes it, it is lowered
// as two steps.
#include <algorithm>

#include "ir/op_def.h"
#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/places.h"

namespace wootz {
namespace {

// What makes both keys and values, and nothing else of the attention's operands; null: there is no such node.
Node* caches_of(const Node& attention) {
  if (attention.num_outputs() != 1 || attention.num_inputs() < 3) return nullptr;
  const std::vector<Value*>& inputs = attention.inputs();
  if (std::find(inputs.begin(), inputs.end(), nullptr) != inputs.end()) return nullptr;
  Node* const made = inputs[1]->producer();
  if (made == nullptr || !made->is("Chain") || made->num_outputs() != 2 || inputs[1] == inputs[2]) return nullptr;
  for (size_t i = 0; i < inputs.size(); ++i)
    if ((inputs[i]->producer() == made) != (i == 1 || i == 2)) return nullptr;
  const std::shared_ptr<Graph> body = made->attr_graph("body");
  const auto is_concat = [](const Value* v) { return v->producer() != nullptr && v->producer()->is("Concat"); };
  return std::all_of(body->outputs().begin(), body->outputs().end(), is_concat) ? made : nullptr;
}

enum class Readers { kNone, kLater, kEarlier };

// Where others read what the caches' node makes.
Readers other_readers(const Graph& graph, const Node& caches, const Node& attention, const Places& places) {
  const auto own = places.find(&attention);
  Readers found = Readers::kNone;
  for (const Value* result : caches.outputs()) {
    const std::vector<Value*>& outputs = graph.outputs();
    if (std::find(outputs.begin(), outputs.end(), result) != outputs.end()) found = Readers::kLater;
    for (const Use& use : result->uses()) {
      if (use.node == &attention) continue;
      const auto at = places.find(use.node);
      if (own == places.end() || at == places.end() || at->second <= own->second) return Readers::kEarlier;
      found = Readers::kLater;
    }
  }
  return found;
}

}  // namespace

Result<bool> fuse_caches(Graph& graph) {
  const Places places = places_of(graph);
  std::vector<Node*> attentions;
  for (Node* node = graph.first(); node != nullptr; node = node->next())
    if (node->is("Attention")) attentions.push_back(node);
  bool changed = false;
  for (Node* attention : attentions) {
    Node* const caches = caches_of(*attention);
    if (caches == nullptr) continue;
    const Readers others = other_readers(graph, *caches, *attention, places);
    if (others == Readers::kEarlier) continue;
    std::vector<Value*> operands = caches->inputs(), results{attention->output()};
    for (int i = 0; i < attention->num_inputs(); ++i)
      if (i != 1 && i != 2) operands.push_back(attention->input(i));
    if (others == Readers::kLater) results.insert(results.end(), caches->outputs().begin(), caches->outputs().end());
    Node* const nodes[] = {caches, attention};
    WOOTZ_ASSIGN_OR_RETURN(const bool enclosed, enclose_nodes(graph, nodes, std::move(operands), results));
    changed = changed || enclosed;
  }
  return changed;
}

}  // namespace wootz
