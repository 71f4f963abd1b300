// The short ways by which layers add nodes.
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
