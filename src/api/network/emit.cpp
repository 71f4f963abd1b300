// The short ways by which layers add nodes, and in which types they read their operands.
#include <algorithm>

#include "api/network/network.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::api {

Result<Node*> LayerSink::add(std::string_view name, std::vector<Value*> inputs, AttrMap attrs, int num_outputs) {
  const OpDef* def = find_op(name);
  if (def == nullptr) return unsupported("this build has no op '{}'", name);
  const std::string& base = layer.name();
  const std::string unique = graph().unique_name(nodes.empty() ? base : fmt::format("{}/{}", base, name));
  Node* made = graph().add_node(*def, unique, std::move(inputs), std::move(attrs), num_outputs);
  nodes.push_back(made);
  if (layer.origin && !layer.origin->provenance.empty()) {
    for (const std::string& from : layer.origin->provenance) made->add_provenance(from);
  } else {
    made->add_provenance(base);
  }
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  return made;
}

Value* LayerSink::add_constant(HostTensor tensor) {
  return graph().add_constant(graph().unique_name(layer.name() + "/constant"), std::move(tensor));
}

Value* Emit::weights(const nvinfer1::Weights& weights, const wootz::Dims& dims, const char* what,
                     nvinfer1::WeightsRole role) {
  if (failed()) return nullptr;
  const DType dtype = from_api(weights.type);
  const Result<int64_t> count = checked_volume(dims.span());
  if (dtype == DType::kInvalid) {
    refuse(invalid_argument("{}: unknown type {}", what, static_cast<int>(weights.type)));
  } else if (!count.ok()) {
    refuse(count.status());
  } else if (weights.count != *count) {
    refuse(
        invalid_argument("{}: {} values were given, shape {} takes {}", what, weights.count, dims.to_string(), *count));
  } else if (weights.values == nullptr && weights.count > 0) {
    refuse(invalid_argument("{}: the address of {} values is null", what, weights.count));
  }
  if (failed()) return nullptr;
  // Not copied: the application keeps them until the network is built.
  Value* const value = constant(HostTensor::wrap(dtype, dims, weights.values, nullptr));
  if (value == nullptr) return nullptr;
  sink.scope.emission().weights().push_back({&sink.graph(), value->id(), &sink.layer, role, weights});
  return value;
}

// An input of an imported model that was given another type of float: the model goes on in its own, as far as types are
// for the build to choose.
Result<Value*> EmissionScope::as_imported(const TensorImpl& tensor, Value* input) {
  const DType wanted = tensor.origin_dtype;
  if (tensor.network().strongly_typed() || !is_model_float(wanted) || !is_model_float(input->dtype()) ||
      wanted == input->dtype())
    return input;
  Node* cast = graph_.add_node(*find_op("Cast"), graph_.unique_name(tensor.name() + "/Cast"), {input},
                               {{"to", std::string(dtype_name(wanted))}});
  WOOTZ_RETURN_IF_ERROR(infer_node(*cast));
  return cast->output(0);
}

Value* Emit::operand(const TensorImpl* tensor) {
  Value* const value = sink.scope.find(tensor);
  if (common_ == DType::kInvalid || value == nullptr || !is_model_float(value->dtype())) return value;
  const auto [at, is_new] = in_common_.emplace(tensor, nullptr);
  if (is_new) at->second = cast(value, common_);
  return at->second;
}

bool Emit::start_again_in_one_type() {
  if (sink.layer.network().strongly_typed() || common_ != DType::kInvalid) return false;
  const std::vector<TensorImpl*>& inputs = sink.layer.origin ? sink.layer.origin->inputs : sink.layer.inputs;
  DType first = DType::kInvalid;
  for (const TensorImpl* input : inputs) {
    const Value* value = input == nullptr ? nullptr : sink.scope.find(input);
    if (value == nullptr || !is_model_float(value->dtype())) continue;
    if (first != DType::kInvalid && first != value->dtype()) common_ = DType::kF32;
    first = value->dtype();
  }
  if (common_ == DType::kInvalid) return false;
  outputs_.clear();
  static_cast<GraphBuilder&>(*this) = GraphBuilder(sink);  // without the failure
  return true;
}

// On failure nothing of it stays in the graph.
Status EmissionScope::emit_once(const LayerCore& layer, Emit& e) {
  Status status = layer.origin ? emit_origin(layer, e) : const_cast<LayerCore&>(layer).emit(e);
  if (status.ok()) status = e.status();
  if (status.ok()) return status;
  for (auto it = e.sink.nodes.rbegin(); it != e.sink.nodes.rend(); ++it) graph_.erase(*it);  // nothing reads them
  e.sink.nodes.clear();
  std::erase_if(emission_.weights(), [&](const EmittedWeights& w) { return w.layer == &layer; });
  return status;
}

Status EmissionScope::emit_nodes(const LayerCore& layer, Emit& e) {
  const Status status = emit_once(layer, e);
  if (status.ok()) return status;
  if (e.start_again_in_one_type() && emit_once(layer, e).ok()) return Status();
  return status.place(PlaceKind::kLayer) != nullptr ? status : layer.at(status);
}

void Emit::out(size_t i, Value* value) {
  if (failed()) return;
  if (value == nullptr) {
    refuse(internal_error("output {} was not made", i));
    return;
  }
  // A value of its own for each output, so that it can have the output's name.
  const bool own =
      value->is_constant() || std::find(sink.nodes.begin(), sink.nodes.end(), value->producer()) != sink.nodes.end();
  if (!own) value = op("Identity", {value});
  if (const auto it = sink.layer.output_types.find(static_cast<int32_t>(i)); it != sink.layer.output_types.end())
    value = cast(value, it->second);
  if (outputs_.size() <= i) outputs_.resize(i + 1, nullptr);
  outputs_[i] = value;
}

void Emit::give(const std::vector<LayerCore*>& layers, const std::function<Value*(size_t)>& value) {
  for (size_t i = 0; i < layers.size() && !failed(); ++i) {
    sink.scope.mark_shared(*layers[i]);
    if (layers[i] == &sink.layer) {
      out(0, value(i));
      continue;
    }
    value(i)->set_name(layers[i]->outputs[0]->name());
    sink.scope.set(layers[i]->outputs[0], value(i));
  }
}

}  // namespace wootz::api
