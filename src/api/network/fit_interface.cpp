#include "api/network/fit_interface.h"

#include "api/runtime/convert.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::api {

namespace {

Result<Node*> add(Graph& graph, const std::string& name, Value* v, DType to, Node* before) {
  AttrMap attrs;
  if (to != v->dtype()) attrs.emplace("to", std::string(dtype_name(to)));
  const OpDef& def = op(attrs.empty() ? "Identity" : "Cast");
  Node* node = graph.add_node(def, graph.unique_name(name), {v}, std::move(attrs), 1, before);
  node->add_provenance(node->name());
  WOOTZ_RETURN_IF_ERROR(infer_node(*node));
  return node;
}

Status fit_input(Graph& graph, Value* input, Node* first, const Reporter& reporter) {
  const DType exact = input->dtype(), here = nearest_api_type(exact);
  reporter.warning(
      fmt::format("input '{}' is {} in the model; here it is {}", input->name(), dtype_name(exact), dtype_name(here)));
  const std::vector<Use> uses = input->uses();
  input->set_type(here, input->shape());
  WOOTZ_ASSIGN_OR_RETURN(Node * cast, add(graph, input->name() + "_cast", input, exact, first));
  cast->output()->set_name(input->name() + "_exact");
  for (const Use& use : uses) use.node->set_input(use.index, cast->output());
  return Status();
}

Status fit_output(Graph& graph, int index, DType to, const Reporter& reporter) {
  Value* inner = graph.outputs()[static_cast<size_t>(index)];
  const bool cast = to != inner->dtype();
  const std::string name = inner->name();
  if (cast)
    reporter.warning(
        fmt::format("output '{}' is {} in the model; here it is {}", name, dtype_name(inner->dtype()), dtype_name(to)));
  inner->set_name(cast ? name + "_exact" : graph.unique_name(name));
  WOOTZ_ASSIGN_OR_RETURN(Node * node, add(graph, name + (cast ? "_cast" : "_copy"), inner, to, nullptr));
  node->output()->set_name(name);
  graph.set_output(index, node->output());
  return Status();
}

}  // namespace

Status fit_interface(Graph& graph, bool exact_types, const Reporter& reporter) {
  Node* first = graph.first();
  for (Value* input : graph.inputs())
    if (!exact_types && !has_api_type(input->dtype())) WOOTZ_RETURN_IF_ERROR(fit_input(graph, input, first, reporter));
  for (int i = 0; i < static_cast<int>(graph.outputs().size()); ++i) {
    const Value* output = graph.outputs()[static_cast<size_t>(i)];
    const bool typed = exact_types || has_api_type(output->dtype());
    if (typed && output->producer() != nullptr) continue;
    WOOTZ_RETURN_IF_ERROR(fit_output(graph, i, typed ? output->dtype() : nearest_api_type(output->dtype()), reporter));
  }
  return Status();
}

}  // namespace wootz::api
