#include "api/network/adopt.h"

#include <unordered_map>

#include "ir/op_def.h"
#include "ir/verify.h"

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
  Status emit(Emit& e) override { return e.fail("the node behind the layer is gone"); }
};

class Adoption {
 public:
  Adoption(NetworkImpl& network, Graph& graph) : network_(network), graph_(graph) {}

  void add_input(const Value& value, std::vector<TensorImpl*>* inputs, bool exact_types) {
    TensorImpl* tensor = network_.new_tensor(value.name());
    tensor->is_input = true;
    tensor->origin_shape = value.shape();
    tensor->dims = ApiDims{};
    for (const Dim& d : value.shape()) {
      const auto a = static_cast<size_t>(tensor->dims.nbDims++);
      SymbolId id = 0;
      tensor->dims.d[a] = d.is_const() ? d.value() : -1;
      if (d.is_symbol(&id)) tensor->dim_names[a] = graph_.symbols()[static_cast<size_t>(id)].name;
    }
    tensor->dtype = value.dtype();
    inputs->push_back(tensor);
    tensors_[&value] = tensor;
    if (exact_types || has_api_type(value.dtype())) return;
    // The API has no number for the type: the input takes the nearest one, and a cast makes what the model wants.
    tensor->dtype = nearest_api_type(value.dtype());
    network_.reporter().warning(fmt::format("input '{}' is {} in the model; here it is {}", value.name(),
                                            dtype_name(value.dtype()), dtype_name(tensor->dtype)));
    tensors_[&value] = cast(tensor, value.dtype(), value.name() + "_exact");
  }

  Status add_node(const Node& node) {
    AdoptContext context{network_, node, {}};
    for (Value* v : node.inputs()) context.inputs.push_back(v == nullptr ? nullptr : tensor(v));
    const size_t first = network_.layers().size();
    LayerCore* layer = nullptr;
    for (const AdoptFunction function : kAdopters)
      if (layer == nullptr && node.num_outputs() == 1 && !node.has_attr("epilogue")) layer = function(context);
    if (layer == nullptr) {
      layer = network_.add_layer<PlainLayer>(context.inputs, static_cast<size_t>(node.num_outputs()));
      layer->metadata = fmt::format("op={}", node.op().name);
    }
    if (layer->outputs.size() != static_cast<size_t>(node.num_outputs()) || network_.layers().size() != first + 1)
      return internal_error("node '{}' was not taken over as one layer", node.name());
    Origin origin;
    origin.op = &node.op();
    origin.attrs = node.attrs();
    origin.inputs = context.inputs;
    origin.provenance = node.provenance();
    if (origin.provenance.empty()) origin.provenance.push_back(node.name());
    origin.outputs = node.num_outputs();
    layer->origin = std::move(origin);
    layer->set_name(node.name());
    for (int o = 0; o < node.num_outputs(); ++o) {
      TensorImpl* out = layer->outputs[static_cast<size_t>(o)];
      out->take_name(node.output(o)->name(), true);
      out->origin_shape = node.output(o)->shape();
      tensors_[node.output(o)] = out;
    }
    return Status();
  }

  TensorImpl* output(const Value& value, bool exact_types) {
    TensorImpl* inner = tensor(&value);
    if (!exact_types && !has_api_type(value.dtype())) {
      const DType to = nearest_api_type(value.dtype());
      network_.reporter().warning(fmt::format("output '{}' is {} in the model; here it is {}", value.name(),
                                              dtype_name(value.dtype()), dtype_name(to)));
      inner->take_name(value.name() + "_exact", true);
      return cast(inner, to, value.name());
    }
    if (!inner->is_input && !inner->is_output && inner->producer != nullptr) return inner;
    // An input given out again, or a value given out twice.
    nvinfer1::ILayer* copy = network_.addIdentity(*inner);
    if (copy == nullptr) return nullptr;
    auto* out = static_cast<TensorImpl*>(copy->getOutput(0));
    out->take_name(value.name(), true);
    return out;
  }

 private:
  TensorImpl* tensor(const Value* value) {
    if (const auto it = tensors_.find(value); it != tensors_.end()) return it->second;
    TensorImpl* made = network_.new_tensor(value->name());
    made->constant = value->constant();
    made->origin_shape = value->shape();
    tensors_[value] = made;
    return made;
  }
  TensorImpl* cast(TensorImpl* from, DType to, const std::string& name) {
    nvinfer1::ILayer* layer = network_.addCast(*from, to_api(to));
    auto* out = static_cast<TensorImpl*>(layer->getOutput(0));
    out->take_name(name, true);
    return out;
  }

  NetworkImpl& network_;
  Graph& graph_;
  std::unordered_map<const Value*, TensorImpl*> tensors_;
};

}  // namespace

Status NetworkImpl::adopt(std::shared_ptr<Graph> graph, bool exact_types) {
  WOOTZ_RETURN_IF_ERROR(verify_graph(*graph));
  for (const Value* v : graph->inputs())
    if (name_taken(v->name(), nullptr))
      return invalid_argument("the network has an input or output '{}' already", v->name());
  changed(nullptr);
  if (layers_.empty() && !graph->name().empty()) name_ = graph->name();
  adopted_.push_back(graph);
  Adoption adoption(*this, *graph);
  for (const Value* v : graph->inputs()) adoption.add_input(*v, &inputs_, exact_types);
  for (const Node* node = graph->first(); node != nullptr; node = node->next())
    WOOTZ_RETURN_IF_ERROR(adoption.add_node(*node));
  for (const Value* v : graph->outputs()) {
    TensorImpl* tensor = adoption.output(*v, exact_types);
    if (tensor == nullptr) return internal_error("output '{}' has no layer", v->name());
    tensor->is_output = true;
    outputs_.push_back(tensor);
  }
  return Status();
}

}  // namespace wootz::api
