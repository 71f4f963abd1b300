#include "api/network/network.h"

#include <algorithm>

namespace wootz::api {

using nvinfer1::ITensor;
using nvinfer1::NetworkDefinitionCreationFlag;

namespace {
constexpr size_t kMostNameBytes = 4096;
}

nvinfer1::NetworkDefinitionCreationFlags NetworkImpl::getFlags() const noexcept {
  return mask_to_caller<NetworkDefinitionCreationFlag>(reporter_.level(), flags_);
}
bool NetworkImpl::getFlag(NetworkDefinitionCreationFlag flag) const noexcept {
  const std::optional<NetworkDefinitionCreationFlag> known = from_caller(reporter_.level(), flag);
  if (!known) return false;
  return *known == NetworkDefinitionCreationFlag::kEXPLICIT_BATCH ||
         (flags_ >> static_cast<uint32_t>(*known) & 1U) != 0;
}
bool NetworkImpl::strongly_typed() const { return has_flag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED); }

Result<TensorImpl*> NetworkImpl::own(const ITensor* tensor, const char* what) const {
  if (tensor == nullptr) return invalid_argument("{} is null", what);
  if (TensorImpl* ours = TensorImpl::of(*this, tensor)) return ours;
  return invalid_argument("{} '{}' belongs to another network", what, tensor->getName());
}

Result<std::vector<TensorImpl*>> NetworkImpl::own(std::initializer_list<const ITensor*> tensors) const {
  std::vector<TensorImpl*> list;
  for (const ITensor* tensor : tensors) {
    WOOTZ_ASSIGN_OR_RETURN(TensorImpl * ours, own(tensor, "an input"));
    list.push_back(ours);
  }
  return list;
}

TensorImpl* NetworkImpl::new_tensor(std::string name) { return &tensors_.emplace_back(*this, std::move(name)); }

void NetworkImpl::attach(std::unique_ptr<LayerCore> layer, std::vector<TensorImpl*> inputs, size_t outputs) {
  layer->inputs = std::move(inputs);
  for (size_t i = 0; i < outputs; ++i) {
    TensorImpl* out = new_tensor("");
    out->producer = layer.get();
    out->index = static_cast<int>(i);
    layer->outputs.push_back(out);
  }
  layer->set_name(fmt::format("(Unnamed Layer* {}) [{}]", getNbLayers(), layer->kind()));
  layers_.push_back(std::move(layer));
}

ITensor* NetworkImpl::addInput(const char* name, nvinfer1::DataType type, const ApiDims& dimensions) noexcept {
  return attempt_or<ITensor*>(reporter_, "INetworkDefinition::addInput", nullptr, [&]() -> Result<ITensor*> {
    if (name == nullptr || *name == '\0') return invalid_argument("an input needs a name");
    const std::string text(name);
    if (text.size() >= kMostNameBytes)
      return invalid_argument("a name of {} bytes; the limit is {}", text.size(), kMostNameBytes);
    if (name_taken(text, nullptr)) return invalid_argument("there is an input or output '{}' already", text);
    const DType dtype = from_api(type);
    if (dtype == DType::kInvalid) return invalid_argument("input '{}': unknown type {}", text, static_cast<int>(type));
    if (Result<Dims> ok = from_api(dimensions, -1); !ok.ok())
      return ok.status().with_prefix(fmt::format("input '{}'", text));
    TensorImpl* tensor = new_tensor(text);
    tensor->is_input = true;
    tensor->dtype = dtype;
    tensor->dims = dimensions;
    inputs_.push_back(tensor);
    // At once, so that the graph's inputs stand in the network's order.
    if (imported_ != nullptr) WOOTZ_RETURN_IF_ERROR(imported_->root().value(tensor).status());
    return tensor;
  });
}

bool NetworkImpl::name_taken(const std::string& name, const TensorImpl* except) const {
  const auto same = [&](const TensorImpl* t) { return t != except && t->name() == name; };
  return std::any_of(inputs_.begin(), inputs_.end(), same) || std::any_of(outputs_.begin(), outputs_.end(), same);
}

void NetworkImpl::markOutput(ITensor& tensor) noexcept {
  attempt(reporter_, "INetworkDefinition::markOutput", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(TensorImpl * ours, own(&tensor));
    if (ours->is_input)
      return invalid_argument("'{}' is an input: add an identity layer to make an output of it", ours->name());
    if (ours->is_output) return Status();
    ours->is_output = true;
    outputs_.push_back(ours);
    return Status();
  });
}

void NetworkImpl::unmarkOutput(ITensor& tensor) noexcept {
  attempt(reporter_, "INetworkDefinition::unmarkOutput", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(TensorImpl * ours, own(&tensor));
    if (!ours->is_output) return invalid_argument("'{}' is no output", ours->name());
    ours->is_output = ours->output_for_shapes = false;
    outputs_.erase(std::remove(outputs_.begin(), outputs_.end(), ours), outputs_.end());
    return Status();
  });
}

bool NetworkImpl::markOutputForShapes(ITensor& tensor) noexcept {
  return attempt(reporter_, "INetworkDefinition::markOutputForShapes", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(TensorImpl * ours, own(&tensor));
    if (!ours->isShapeTensor()) return invalid_argument("'{}' is no shape tensor", ours->name());
    ours->output_for_shapes = true;
    if (ours->is_output) return Status();
    ours->is_output = true;
    outputs_.push_back(ours);
    return Status();
  });
}

bool NetworkImpl::unmarkOutputForShapes(ITensor& tensor) noexcept {
  return attempt(reporter_, "INetworkDefinition::unmarkOutputForShapes", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(TensorImpl * ours, own(&tensor));
    if (!ours->output_for_shapes) return invalid_argument("'{}' is no output for shapes", ours->name());
    ours->is_output = ours->output_for_shapes = false;
    outputs_.erase(std::remove(outputs_.begin(), outputs_.end(), ours), outputs_.end());
    return Status();
  });
}

void NetworkImpl::removeTensor(ITensor& tensor) noexcept {
  attempt(reporter_, "INetworkDefinition::removeTensor", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(TensorImpl * ours, own(&tensor));
    ours->is_output = ours->output_for_shapes = ours->debug = ours->is_input = false;
    outputs_.erase(std::remove(outputs_.begin(), outputs_.end(), ours), outputs_.end());
    inputs_.erase(std::remove(inputs_.begin(), inputs_.end(), ours), inputs_.end());
    changed(nullptr);
    return Status();
  });
}

ITensor* NetworkImpl::getInput(int32_t index) const noexcept {
  return index >= 0 && static_cast<size_t>(index) < inputs_.size() ? inputs_[static_cast<size_t>(index)] : nullptr;
}
ITensor* NetworkImpl::getOutput(int32_t index) const noexcept {
  return index >= 0 && static_cast<size_t>(index) < outputs_.size() ? outputs_[static_cast<size_t>(index)] : nullptr;
}
nvinfer1::ILayer* NetworkImpl::getLayer(int32_t index) const noexcept {
  const auto i = static_cast<size_t>(index);
  return index >= 0 && i < layers().size() ? &layers_[i]->api() : nullptr;
}

void NetworkImpl::setName(const char* name) noexcept {
  attempt(reporter_, "INetworkDefinition::setName", [&]() -> Status {
    if (name == nullptr) return invalid_argument("the name is null");
    std::string text(name);
    if (text.size() >= kMostNameBytes)
      return invalid_argument("a name of {} bytes; the limit is {}", text.size(), kMostNameBytes);
    name_ = std::move(text);
    return Status();
  });
}

bool NetworkImpl::markDebug(ITensor& tensor) noexcept {
  return attempt(reporter_, "INetworkDefinition::markDebug", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(TensorImpl * ours, own(&tensor));
    if (ours->is_input) return invalid_argument("'{}' is an input, which the application has anyway", ours->name());
    ours->debug = true;
    return Status();
  });
}

bool NetworkImpl::unmarkDebug(ITensor& tensor) noexcept {
  return attempt(reporter_, "INetworkDefinition::unmarkDebug", [&]() -> Status {
    WOOTZ_ASSIGN_OR_RETURN(TensorImpl * ours, own(&tensor));
    ours->debug = false;
    return Status();
  });
}

bool NetworkImpl::isDebugTensor(const ITensor& tensor) const noexcept {
  const TensorImpl* ours = TensorImpl::of(*this, &tensor);
  return ours != nullptr && ours->debug;
}

bool NetworkImpl::unmarkUnfusedTensorsAsDebugTensors() noexcept {
  unfused_debug_ = false;
  return true;
}

}  // namespace wootz::api
