#include "passes/canonicalize/inliner.h"

#include <unordered_map>

#include "ops/infer.h"
#include "passes/support/rewrite.h"

namespace wootz {

Result<Value*> Inliner::emit(std::string_view name, std::vector<Value*> inputs, AttrMap attrs) {
  return emit_before(graph_, node_, name, std::move(inputs), std::move(attrs));
}

Value* Inliner::constant(HostTensor tensor) {
  return graph_.add_constant(graph_.unique_name(node_->name() + "_value"), std::move(tensor));
}

Result<std::vector<Value*>> Inliner::body(const Graph& body, const std::vector<Value*>& inputs, bool keep_names) {
  std::unordered_map<const Value*, Value*> map;
  if (inputs.size() != body.inputs().size())
    return internal_error("{} values for {} inputs of '{}'", inputs.size(), body.inputs().size(), body.name());
  for (size_t i = 0; i < inputs.size(); ++i) map[body.inputs()[i]] = inputs[i];
  const auto find = [&](const Value* v) -> Value* {
    if (v == nullptr) return nullptr;
    Value*& to = map[v];
    if (to == nullptr && v->is_constant()) to = constant(v->constant());
    return to;
  };
  for (const Node* n = body.first(); n != nullptr; n = n->next()) {
    std::vector<Value*> operands;
    for (const Value* v : n->inputs()) operands.push_back(find(v));
    WOOTZ_ASSIGN_OR_RETURN(Node * made, add(n->op(), std::move(operands), n->attrs(), n->num_outputs()));
    for (const std::string& name : n->provenance()) made->add_provenance(name);
    for (int o = 0; o < n->num_outputs(); ++o) {
      if (keep_names) made->output(o)->set_name(graph_.unique_name(n->output(o)->name()));
      map[n->output(o)] = made->output(o);
    }
  }
  std::vector<Value*> results;
  for (const Value* v : body.outputs()) results.push_back(find(v));
  return results;
}

Status Inliner::finish(std::vector<Value*> results) {
  for (size_t o = 0; o < results.size(); ++o) {
    Value *from = node_->output(static_cast<int>(o)), *to = results[o];
    if (from == nullptr) continue;
    if (graph_.is_output(from)) {
      if (to->kind() != ValueKind::kNodeOutput || graph_.is_output(to)) {
        WOOTZ_ASSIGN_OR_RETURN(to, emit("Identity", {to}, {}));
      }
      std::string name = from->name();
      from->set_name(graph_.unique_name(name));
      to->add_alias(to->name());
      to->set_name(std::move(name));
    }
    graph_.replace_all_uses(from, to);
  }
  erase_if_dead(graph_, node_);
  return Status();
}

Result<Node*> Inliner::add(const OpDef& def, std::vector<Value*> inputs, AttrMap attrs, int outputs) {
  Node* made =
      graph_.add_node(def, graph_.unique_name(node_->name()), std::move(inputs), std::move(attrs), outputs, node_);
  made->add_provenance(*node_);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  return made;
}

}  // namespace wootz
