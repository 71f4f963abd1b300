#include "ops/control/inline_graph.h"

#include <unordered_map>

namespace wootz::ops {

Result<std::vector<Value*>> inline_graph(ImportContext& ctx, const Graph& body, const std::vector<Value*>& inputs) {
  std::unordered_map<const Value*, Value*> map;
  if (inputs.size() != body.inputs().size())
    return internal_error("{} values for {} inputs", inputs.size(), body.inputs().size());
  for (size_t i = 0; i < inputs.size(); ++i) map[body.inputs()[i]] = inputs[i];
  const auto find = [&](const Value* v) -> Value* {
    if (v == nullptr) return nullptr;
    Value*& to = map[v];
    if (to == nullptr && v->is_constant()) to = ctx.add_constant(v->constant());
    return to;
  };
  for (const Node* node = body.first(); node != nullptr; node = node->next()) {
    std::vector<Value*> operands;
    for (const Value* v : node->inputs()) {
      operands.push_back(find(v));
      if (v != nullptr && operands.back() == nullptr)
        return internal_error("'{}' is read before it is made", v->name());
    }
    WOOTZ_ASSIGN_OR_RETURN(Node * copy,
                           ctx.add(node->op().name, std::move(operands), node->attrs(), node->num_outputs()));
    for (const std::string& name : node->provenance()) copy->add_provenance(name);
    for (int o = 0; o < node->num_outputs(); ++o) map[node->output(o)] = copy->output(o);
  }
  std::vector<Value*> outputs;
  for (const Value* v : body.outputs()) outputs.push_back(find(v));
  return outputs;
}

}  // namespace wootz::ops
