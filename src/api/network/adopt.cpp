#include "api/network/adopt.h"

#include "ir/op_def.h"

namespace wootz::api {

namespace {

constexpr AdoptFunction kAdopters[] = {adopt_pointwise, adopt_conv,   adopt_pool,   adopt_norm,
                                       adopt_reduce,    adopt_matrix, adopt_gather, adopt_shape};

// A node that no layer class stands for. kIDENTITY is a type whose class has no methods of its own; the metadata tell
// the op.
class PlainLayer final : public LayerBase<nvinfer1::ILayer> {
 public:
  explicit PlainLayer(NetworkImpl& network) : LayerBase(network, nvinfer1::LayerType::kIDENTITY, "Node") {}
  // Settings it has none, and a new input keeps the node (LayerCore::replace_input).
  Status emit(Emit& e) override { return e.fail("the layer's node is gone"); }
};

}  // namespace

Adoption::Adoption(NetworkImpl& network, std::shared_ptr<Graph> graph, EmissionScope* scope)
    : network_(network),
      graph_(std::move(graph)),
      scope_(scope),
      last_(graph_->last()),
      unmade_(static_cast<size_t>(graph_->num_nodes())) {}

void Adoption::note(Value* value, TensorImpl* tensor) {
  tensor->origin_shape = value->shape();
  tensor->origin_dtype = value->dtype();
  tensors_[value] = tensor;
  if (scope_ != nullptr) scope_->set(tensor, value);
}

TensorImpl* Adoption::tensor(Value* value) {
  if (const auto it = tensors_.find(value); it != tensors_.end()) return it->second;
  TensorImpl* made = network_.new_tensor("");
  made->take_name(value->name(), !value->is_constant());
  if (value->is_constant()) made->constant = value->constant();
  note(value, made);
  return made;
}

TensorImpl* Adoption::input(Value* value) {
  TensorImpl* made = tensor(value);
  made->is_input = true;
  made->dtype = value->dtype();
  made->dims = ApiDims{};
  for (const Dim& d : value->shape()) {
    const auto a = static_cast<size_t>(made->dims.nbDims++);
    SymbolId id = 0;
    made->dims.d[a] = d.is_const() ? d.value() : -1;
    if (d.is_symbol(&id)) made->dim_names[a] = graph_->symbols()[static_cast<size_t>(id)].name;
  }
  return made;
}

Status Adoption::make_layers() {
  const Node* end = last_ == nullptr ? nullptr : last_->next();
  for (const Node* node = graph_->first(); node != end; node = node->next()) WOOTZ_RETURN_IF_ERROR(make_layer(*node));
  return Status();
}

Status Adoption::make_layer(const Node& node) {
  AdoptContext context{network_, node, {}};
  for (Value* v : node.inputs()) context.inputs.push_back(v == nullptr ? nullptr : tensor(v));
  LayerCore* layer = node.is("Plugin") ? adopt_plugin(context) : nullptr;
  for (const AdoptFunction function : kAdopters)
    if (layer == nullptr && node.num_outputs() == 1 && !node.has_attr("epilogue")) layer = function(context);
  if (layer == nullptr) {
    layer = network_.add_layer<PlainLayer>(context.inputs, static_cast<size_t>(node.num_outputs()));
    layer->metadata = fmt::format("op={}", node.op().name);
  }
  if (layer->outputs.size() != static_cast<size_t>(node.num_outputs()))
    return internal_error("node '{}' was not taken over as one layer", node.name());
  Origin origin;
  origin.op = &node.op();
  origin.attrs = node.attrs();
  origin.inputs = context.inputs;
  origin.provenance = node.provenance();
  origin.outputs = node.num_outputs();
  layer->origin = std::move(origin);
  layer->set_name(node.name());
  for (int o = 0; o < node.num_outputs(); ++o) {
    TensorImpl*& out = layer->outputs[static_cast<size_t>(o)];
    if (const auto known = tensors_.find(node.output(o)); known != tensors_.end()) {
      out = known->second;  // an output of the network: the application may hold it
      out->producer = layer;
      out->index = o;
      continue;
    }
    out->take_name(node.output(o)->name(), true);
    note(node.output(o), out);
  }
  if (scope_ != nullptr) scope_->mark_emitted(*layer, {const_cast<Node*>(&node)});  // of the scope's own graph
  return Status();
}

}  // namespace wootz::api
