#include "passes/support/replacement.h"

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/support/rewrite.h"

namespace wootz {

Result<Node*> InsertBefore::add(std::string_view name, std::vector<Value*> inputs, AttrMap attrs, int num_outputs) {
  Node* made = graph_.add_node(op(name), graph_.unique_name(before->name()), std::move(inputs), std::move(attrs),
                               num_outputs, before);
  made->add_provenance(*before);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  return made;
}

Value* InsertBefore::add_constant(HostTensor tensor) {
  return graph_.add_constant(graph_.unique_name(before->name() + "_value"), std::move(tensor));
}

Status Replacement::finish(std::vector<Value*> results) {
  Node* const node = sink.before;
  for (size_t o = 0; o < results.size() && !failed(); ++o) {
    Value *from = node->output(static_cast<int>(o)), *to = results[o];
    if (from == nullptr) continue;
    if (graph().is_output(from)) {
      if (to->kind() != ValueKind::kNodeOutput || graph().is_output(to)) to = op("Identity", {to});
      if (failed()) break;
      std::string name = from->name();
      from->set_name(graph().unique_name(name));
      to->add_alias(to->name());
      to->set_name(std::move(name));
    }
    graph().replace_all_uses(from, to);
  }
  if (!failed()) erase_if_dead(graph(), node);
  return status();
}

}  // namespace wootz
