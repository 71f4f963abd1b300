// The short ways by which layers add nodes.
#include <algorithm>

#include "api/network/network.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::api {

Node* Emit::node(std::string_view name, std::vector<Value*> inputs, AttrMap attrs, int outputs) {
  if (failed()) return nullptr;
  const OpDef* def = find_op(name);
  if (def == nullptr) {
    refuse(unsupported("this build has no op '{}'", name));
    return nullptr;
  }
  // The first node of a layer has the layer's name, further ones say what they are.
  const std::string& base = layer_.name();
  const std::string unique = graph().unique_name(nodes_.empty() ? base : fmt::format("{}/{}", base, name));
  Node* made = graph().add_node(*def, unique, std::move(inputs), std::move(attrs), outputs);
  nodes_.push_back(made);
  if (layer_.origin && !layer_.origin->provenance.empty()) {
    for (const std::string& from : layer_.origin->provenance) made->add_provenance(from);
  } else {
    made->add_provenance(base);
  }
  if (Status status = infer_node(*made); !status.ok()) {
    refuse(std::move(status));
    return nullptr;
  }
  return made;
}

Value* Emit::op(std::string_view name, std::vector<Value*> inputs, AttrMap attrs) {
  Node* made = node(name, std::move(inputs), std::move(attrs));
  return made == nullptr ? nullptr : made->output();
}

Value* Emit::constant(HostTensor tensor) {
  if (failed()) return nullptr;
  if (!tensor.valid()) {
    refuse(make_error(Code::kResourceExhausted, "no memory for a constant"));
    return nullptr;
  }
  return graph().add_constant(graph().unique_name(layer_.name() + "/constant"), std::move(tensor));
}

Value* Emit::scalar(DType dtype, double value) {
  Result<HostTensor> tensor = HostTensor::allocate(dtype, Dims{});
  if (!tensor.ok()) {
    refuse(tensor.status());
    return nullptr;
  }
  if (is_float(dtype))
    tensor->set_f64(0, value);
  else
    tensor->set_i64(0, static_cast<int64_t>(value));
  return constant(std::move(tensor).value());
}

Value* Emit::ints(const std::vector<int64_t>& values) {
  Result<HostTensor> tensor = HostTensor::allocate(DType::kI64, Dims{static_cast<int64_t>(values.size())});
  if (!tensor.ok()) {
    refuse(tensor.status());
    return nullptr;
  }
  for (size_t i = 0; i < values.size(); ++i) tensor->set_i64(static_cast<int64_t>(i), values[i]);
  return constant(std::move(tensor).value());
}

Value* Emit::cast(Value* v, DType to) {
  if (failed() || v == nullptr || v->dtype() == to) return v;
  return op("Cast", {v}, {{"to", std::string(dtype_name(to))}});
}

Value* Emit::transpose(Value* v, const std::vector<int64_t>& perm) {
  bool identity = true;
  for (size_t i = 0; i < perm.size(); ++i) identity = identity && perm[i] == static_cast<int64_t>(i);
  return failed() || identity ? v : op("Transpose", {v}, {{"perm", perm}});
}

Value* Emit::reshape(Value* v, const std::vector<int64_t>& dims) { return op("Reshape", {v, ints(dims)}); }
Value* Emit::unsqueeze(Value* v, const std::vector<int64_t>& axes) { return op("Unsqueeze", {v}, {{"axes", axes}}); }
Value* Emit::squeeze(Value* v, const std::vector<int64_t>& axes) { return op("Squeeze", {v}, {{"axes", axes}}); }

Value* Emit::weights(const nvinfer1::Weights& weights, const wootz::Dims& dims, const char* what) {
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
  return constant(HostTensor::wrap(dtype, dims, weights.values, nullptr));
}

void Emit::out(size_t i, Value* value) {
  if (failed()) return;
  if (value == nullptr) {
    refuse(internal_error("output {} was not made", i));
    return;
  }
  // A value of its own for each output, so that it can have the output's name.
  const bool own = value->is_constant() || std::find(nodes_.begin(), nodes_.end(), value->producer()) != nodes_.end();
  if (!own) value = op("Identity", {value});
  if (const auto it = layer_.output_types.find(static_cast<int32_t>(i)); it != layer_.output_types.end())
    value = cast(value, it->second);
  if (outputs_.size() <= i) outputs_.resize(i + 1, nullptr);
  outputs_[i] = value;
}

void Emit::give(const std::vector<LayerCore*>& layers, const std::function<Value*(size_t)>& value) {
  for (size_t i = 0; i < layers.size() && !failed(); ++i) {
    if (layers[i] == &layer_) {
      out(0, value(i));
      continue;
    }
    value(i)->set_name(layers[i]->outputs[0]->name());
    scope_.set(layers[i]->outputs[0], value(i));
    scope_.mark_emitted(*layers[i]);
  }
}

}  // namespace wootz::api
