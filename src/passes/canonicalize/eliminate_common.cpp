// Common subexpressions, by value numbering in one forward walk: equal op, operands and attributes give one node.
#include <unordered_map>

#include "ops/infer.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// Small constants of equal type and content are one operand.
std::string constant_key(const Value& v) {
  const HostTensor& t = v.constant();
  return std::string(dtype_name(t.dtype())) + t.dims().to_string() + ":" +
         std::string(static_cast<const char*>(t.data()), t.bytes());
}

}  // namespace

Result<bool> eliminate_common(Graph& graph) {
  bool changed = false;
  std::unordered_map<std::string, Value*> constants;
  for (Value* c : graph.constants()) {
    if (c->constant().bytes() > 4096 || graph.is_output(c)) continue;
    const auto [it, fresh] = constants.try_emplace(constant_key(*c), c);
    if (fresh) continue;
    graph.replace_all_uses(c, it->second);
    graph.erase_value(c);
    changed = true;
  }
  std::unordered_map<std::string, Node*> seen;
  bool sizes = false;  // data-dependent ones, of a node that is gone: what follows goes by those of the other
  for (Node* node : graph.nodes()) {
    if (node->op().traits.has_side_effects || !node->op().traits.foldable) continue;
    std::string key = node->op().name;
    for (const Value* in : node->inputs()) key += fmt::format("|{}", in == nullptr ? -1 : in->id());
    key += fmt::format("|{}", node->num_outputs());
    const std::optional<std::string> attributes = attribute_key(*node);
    if (!attributes) continue;
    key += *attributes;
    const auto [it, fresh] = seen.try_emplace(std::move(key), node);
    if (fresh) continue;
    bool output = false;
    for (const Value* out : node->outputs()) output = output || graph.is_output(out);
    if (output) continue;  // two outputs of the network stay two tensors
    for (int o = 0; o < node->num_outputs(); ++o) {
      sizes = sizes || !(node->output(o)->shape() == it->second->output(o)->shape());
      graph.replace_all_uses(node->output(o), it->second->output(o));
    }
    it->second->add_provenance(*node);
    graph.erase(node);
    changed = true;
  }
  if (sizes) WOOTZ_RETURN_IF_ERROR(infer_graph(graph));
  return changed;
}

}  // namespace wootz
