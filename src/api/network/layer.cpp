#include "api/network/layer.h"

namespace wootz::api {

namespace {
constexpr size_t kMostNameBytes = 4096;
}

std::string LayerCore::place() const { return fmt::format("layer '{}' [{}]", name_, kind_); }

Status LayerCore::at(const Status& status) const {
  return status.at(PlaceKind::kLayer, name_, fmt::format("[{}]", kind_));
}

void LayerCore::set_name(std::string name) {
  name_ = std::move(name);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i]->named()) outputs[i]->take_name(i == 0 ? name_ + "_output" : fmt::format("{}_output_{}", name_, i));
  network_.renamed(*this);
}

void LayerCore::changed() {
  origin.reset();
  network_.changed(this);
}

Status LayerCore::replace_input(int32_t index, nvinfer1::ITensor& tensor) {
  WOOTZ_ASSIGN_OR_RETURN(TensorImpl * value, network_.own(&tensor));
  const auto i = static_cast<size_t>(index);
  const size_t most = std::max(inputs.size(), most_inputs);
  if (index < 0 || i >= most) return invalid_argument("{}: there is no input {}; it takes {}", place(), index, most);
  if (i >= inputs.size()) inputs.resize(i + 1, nullptr);
  inputs[i] = value;
  // An imported node keeps its form: only the operand changes.
  std::optional<Origin> keep = std::move(origin);
  changed();
  if (keep && i < keep->inputs.size()) {
    keep->inputs[i] = value;
    origin = std::move(keep);
  }
  return Status();
}

void layer_set_name(LayerCore& layer, const char* name) noexcept {
  attempt(layer.network().reporter(), "ILayer::setName", [&]() -> Status {
    if (name == nullptr) return invalid_argument("{}: the name is null", layer.place());
    std::string text(name);
    if (text.size() >= kMostNameBytes)
      return invalid_argument("{}: a name of {} bytes; the limit is {}", layer.place(), text.size(), kMostNameBytes);
    layer.set_name(std::move(text));
    return Status();
  });
}

void layer_set_input(LayerCore& layer, int32_t index, nvinfer1::ITensor& tensor) noexcept {
  attempt(layer.network().reporter(), "ILayer::setInput", [&] { return layer.replace_input(index, tensor); });
}

void layer_set_precision(LayerCore& layer, nvinfer1::DataType type) noexcept {
  attempt(layer.network().reporter(), "ILayer::setPrecision", [&]() -> Status {
    const DType wanted = from_api(type);
    if (wanted == DType::kInvalid)
      return invalid_argument("{}: unknown type {}", layer.place(), static_cast<int>(type));
    if (layer.network().strongly_typed())
      return make_error(Code::kInvalidState, "{}: types of a strongly typed network follow from its inputs",
                        layer.place());
    layer.precision = wanted;
    return Status();
  });
}

void layer_set_output_type(LayerCore& layer, int32_t index, nvinfer1::DataType type) noexcept {
  attempt(layer.network().reporter(), "ILayer::setOutputType", [&]() -> Status {
    const DType wanted = from_api(type);
    if (wanted == DType::kInvalid)
      return invalid_argument("{}: unknown type {}", layer.place(), static_cast<int>(type));
    if (index < 0 || static_cast<size_t>(index) >= layer.outputs.size())
      return invalid_argument("{}: there is no output {}", layer.place(), index);
    if (layer.network().strongly_typed())
      return make_error(Code::kInvalidState, "{}: types of a strongly typed network follow from its inputs",
                        layer.place());
    layer.output_types[index] = wanted;
    std::optional<Origin> keep = std::move(layer.origin);
    layer.changed();
    layer.origin = std::move(keep);
    return Status();
  });
}

void layer_set_metadata(LayerCore& layer, const char* text) noexcept {
  attempt(layer.network().reporter(), "ILayer::setMetadata", [&]() -> Status {
    if (text == nullptr) return invalid_argument("{}: the text is null", layer.place());
    layer.metadata = text;
    return Status();
  });
}

bool take_ranks(const Owner& network, const char* call, int32_t ranks) noexcept {
  return attempt(network.reporter(), call,
                 [&] { return ranks == 1 ? Status() : unsupported("{} devices; a layer runs on one here", ranks); });
}

}  // namespace wootz::api
