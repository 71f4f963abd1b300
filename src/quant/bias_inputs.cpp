#include "quant/bias_inputs.h"

#include <algorithm>
#include <map>

#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz {
namespace {

Dims bias_dims(const BiasInput& layer, int rank) {
  Dims dims;
  for (int i = 0; i < rank; ++i) dims.push_back(i == result_channel_axis(layer.op, rank) ? layer.channels : 1);
  return dims;
}

std::map<std::string, Value*, std::less<>> values_by_name(const Graph& graph) {
  std::map<std::string, Value*, std::less<>> all;
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    for (Value* value : node->outputs()) {
      all[value->name()] = value;
      for (const std::string& alias : value->aliases()) all.emplace(alias, value);
    }
  return all;
}

Status add_input_behind(Graph& graph, Value* value, const BiasInput& layer) {
  const Dims dims = bias_dims(layer, value->rank());
  Value* const bias = graph.add_input(bias_input_name(layer), DType::kF32, Shape(dims.begin(), dims.end()));
  const std::vector<Use> readers = value->uses();
  Node* const sum = graph.add_node(*find_op("Add"), graph.unique_name(layer.value + "_corrected"), {value, bias}, {}, 1,
                                   value->producer()->next());
  WOOTZ_RETURN_IF_ERROR(infer_node(*sum));
  for (const Use& reader : readers) reader.node->set_input(reader.index, sum->output());
  return Status();
}

}  // namespace

Status ChannelMeans::add(const HostTensor& values, int axis) {
  if (values.dtype() != DType::kF32 || axis < 0 || axis >= values.rank())
    return invalid_argument("means of channels along axis {} of {} {}", axis, dtype_name(values.dtype()),
                            values.dims().to_string());
  const int64_t channels = values.dims()[axis];
  if (sums_.empty()) sums_.assign(static_cast<size_t>(channels), 0);
  if (sums_.size() != static_cast<size_t>(channels))
    return invalid_argument("{} channels after {}", channels, sums_.size());
  if (channels == 0) return Status();
  int64_t inner = 1;
  for (int i = axis + 1; i < values.rank(); ++i) inner *= values.dims()[i];
  const std::span<const float> all = values.as<float>();
  const int64_t rows = values.volume() / inner;
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < inner; ++i) sum += static_cast<double>(all[static_cast<size_t>(row * inner + i)]);
    sums_[static_cast<size_t>(row % channels)] += sum;
  }
  count_ += static_cast<double>(values.volume()) / static_cast<double>(channels);
  return Status();
}

std::vector<float> ChannelMeans::means() const {
  std::vector<float> means;
  for (const double sum : sums_) means.push_back(static_cast<float>(count_ == 0 ? 0 : sum / count_));
  return means;
}

int result_channel_axis(std::string_view op, int rank) {
  return op == "Conv" || op == "ConvTranspose" ? std::min(1, rank - 1) : rank - 1;
}

Status add_bias_inputs(Graph& graph, std::span<const BiasInput> layers) {
  const auto values = values_by_name(graph);
  for (const BiasInput& layer : layers) {
    const auto found = values.find(layer.value);
    if (found == values.end()) return invalid_argument("the network has no value '{}'", layer.value);
    WOOTZ_RETURN_IF_ERROR(add_input_behind(graph, found->second, layer));
  }
  return Status();
}

Result<HostTensor> bias_array(const BiasInput& layer, int rank, std::span<const float> by_channel) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor array, HostTensor::allocate(DType::kF32, bias_dims(layer, rank)));
  std::copy(by_channel.begin(), by_channel.end(), array.as_mutable<float>().begin());
  return array;
}

}  // namespace wootz
