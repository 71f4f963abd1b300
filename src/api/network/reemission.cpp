// Layers whose settings changed after they were emitted: each gets new nodes in the place of its own, and the rest of
// the graph stays. What followed from a result of another type or shape is dropped, and emitted again when it is asked
// for.
#include <algorithm>

#include "api/network/emission.h"

namespace wootz::api {

namespace {

using Nodes = std::vector<Node*>;

bool contains(const Nodes& nodes, const Node* node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

bool read_by(const Nodes& nodes, const Value* value) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node* n) {
    const auto& inputs = n->inputs();
    return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
  });
}

bool same_type(const Value& a, const Value& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.shape_values() == b.shape_values();
}

// What `now` reads was there before `then`: an input or constant, made by `now` itself, or read by `then`.
bool reads_no_more(const Nodes& now, const Nodes& then) {
  for (const Node* node : now)
    for (const Value* v : node->inputs())
      if (v != nullptr && v->producer() != nullptr && !contains(now, v->producer()) && !read_by(then, v)) return false;
  return true;
}

void erase_all(Graph& graph, const Nodes& nodes) {
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) graph.erase(*it);
}

}  // namespace

bool EmissionScope::stands_alone(const LayerCore& layer) const {
  const auto found = nodes_.find(&layer);
  if (found == nodes_.end() || shared_.count(&layer) != 0) return false;
  return std::all_of(layer.outputs.begin(), layer.outputs.end(), [&](const TensorImpl* out) {
    const Value* v = find(out);
    if (v == nullptr || !v->is_constant()) return v != nullptr && contains(found->second, v->producer());
    return std::none_of(layer.inputs.begin(), layer.inputs.end(),
                        [&](const TensorImpl* in) { return in != nullptr && find(in) == v; });
  });
}

bool EmissionScope::outdate(const LayerCore& layer) {
  if (emission_.is_in_body(layer)) return false;
  if (!has_emitted(layer)) return true;
  if (!stands_alone(layer)) return false;
  if (std::find(outdated_.begin(), outdated_.end(), &layer) == outdated_.end()) outdated_.push_back(&layer);
  return true;
}

bool EmissionScope::refresh() {
  for (const LayerCore* layer : std::exchange(outdated_, {})) {
    if (!has_emitted(*layer)) continue;  // it followed from another one
    if (!emit_in_place(*layer) && !forget_with_readers(*layer)) return false;
  }
  return true;
}

void EmissionScope::keep_names(const LayerCore& layer) {
  Names& names = names_[&layer];
  names = {layer.name(), {}};
  for (const Node* node : nodes_.at(&layer)) names.nodes.push_back(node->name());
}

void EmissionScope::restore_names(const LayerCore& layer) {
  const auto kept = names_.extract(&layer);
  if (kept.empty() || kept.mapped().layer != layer.name()) return;
  const std::vector<std::string>& names = kept.mapped().nodes;
  const Nodes& nodes = nodes_.at(&layer);
  for (size_t i = 0; i < std::min(nodes.size(), names.size()); ++i) nodes[i]->set_name(names[i]);
}

// False: nothing was changed.
bool EmissionScope::emit_in_place(const LayerCore& layer) {
  const Nodes then = nodes_.at(&layer);
  std::vector<TensorImpl*> needs;
  layer.collect_needs(&needs);
  const auto known = [&](const TensorImpl* need) {
    const Value* v = need == nullptr ? nullptr : find(need);
    return need == nullptr || (v != nullptr && (v->producer() == nullptr || read_by(then, v)));
  };
  if (!std::all_of(needs.begin(), needs.end(), known)) return false;
  Emit e(*this, layer);
  const bool made = emit_nodes(layer, e).ok();
  bool same = made && e.outputs_.size() == layer.outputs.size() && reads_no_more(e.sink.nodes, then);
  for (size_t i = 0; i < layer.outputs.size() && same; ++i)
    same = e.outputs_[i] != nullptr && same_type(*e.outputs_[i], *find(layer.outputs[i]));
  if (!same) {
    erase_all(graph_, e.sink.nodes);
    return false;
  }
  for (Node* node : e.sink.nodes)
    if (!then.empty()) graph_.move_before(node, then.back());
  for (size_t i = 0; i < layer.outputs.size(); ++i) graph_.replace_all_uses(find(layer.outputs[i]), e.outputs_[i]);
  keep_names(layer);
  erase_all(graph_, then);
  take_outputs(layer, e);
  return true;
}

Nodes EmissionScope::readers(const LayerCore& layer) const {
  Nodes found;
  for (const TensorImpl* out : layer.outputs)
    for (const Use& use : find(out)->uses()) found.push_back(use.node);
  for (const Node* node : nodes_.at(&layer))
    for (const Value* v : node->outputs())
      for (const Use& use : v->uses()) found.push_back(use.node);
  return found;
}

// False: a reader is not a layer's own node, and the graph has to be emitted from the beginning.
bool EmissionScope::forget_with_readers(const LayerCore& layer) {
  std::unordered_map<const Node*, const LayerCore*> owners;
  for (const auto& [owner, nodes] : nodes_)
    for (const Node* node : nodes) owners.emplace(node, owner);
  std::vector<const LayerCore*> gone{&layer};
  std::unordered_set<const LayerCore*> seen{&layer};
  Nodes nodes;
  for (size_t i = 0; i < gone.size(); ++i) {
    if (!stands_alone(*gone[i])) return false;
    const Nodes& own = nodes_.at(gone[i]);
    nodes.insert(nodes.end(), own.begin(), own.end());
    for (const Node* reader : readers(*gone[i])) {
      const auto owner = owners.find(reader);
      if (owner == owners.end()) return false;
      if (seen.insert(owner->second).second) gone.push_back(owner->second);
    }
  }
  for (const LayerCore* one : gone) keep_names(*one);
  for (Node* node : nodes) node->remove_inputs_from(0);  // then nothing reads any of them
  erase_all(graph_, nodes);
  for (const LayerCore* one : gone) {
    for (const TensorImpl* out : one->outputs) values_.erase(out);
    nodes_.erase(one);
  }
  return true;
}

}  // namespace wootz::api
