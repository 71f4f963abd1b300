#include "quant/quantize_weights.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/support/rewrite.h"
#include "quant/range.h"

namespace wootz {
namespace {

constexpr int kPerTensor = -1;
constexpr int64_t kMostProducts = 65536;  // of 8 bits, whose sum an int32 holds

// Along which the output channels lie.
int channel_axis(const Node& node, int rank) {
  if (node.is("Conv")) return 0;
  if (node.is("ConvTranspose")) return node.attr_int("groups", 1) == 1 ? 1 : kPerTensor;
  return rank - (node.attr_int("trans_b", 0) != 0 ? 2 : 1);
}

int64_t products_of_a_sum(const Node& node, const Dims& dims) {
  if (node.is("MatMul")) return dims[dims.rank() - (node.attr_int("trans_b", 0) != 0 ? 1 : 2)];
  return dims.volume() / std::max<int64_t>(1, dims[node.is("Conv") ? 0 : 1]);
}

// Becomes a constant if it is computed of constants alone.
Result<bool> fold(Graph& graph, Value* value, int depth = 8) {
  if (value == nullptr) return true;
  if (value->is_constant()) return true;
  Node* const node = value->producer();
  if (node == nullptr || depth == 0 || node->num_inputs() == 0) return false;
  for (int i = 0; i < node->num_inputs(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const bool known, fold(graph, node->input(i), depth - 1));
    if (!known) return false;
  }
  return fold_node(graph, node);
}

// Elements of one channel follow each other by `inner`, then comes the next channel.
struct Channels {
  int64_t count = 1, inner = 1;
  Dims scale_dims;
  size_t of(int64_t element) const { return static_cast<size_t>(element / inner % count); }
};

Channels channels_of(const Dims& dims, int axis) {
  Channels channels;
  if (axis == kPerTensor) return channels;
  channels.count = dims[axis];
  channels.scale_dims.push_back(channels.count);
  for (int i = axis + 1; i < dims.rank(); ++i) {
    channels.inner *= dims[i];
    channels.scale_dims.push_back(1);
  }
  return channels;
}

std::vector<float> channel_scales(std::span<const float> weights, const Channels& channels) {
  std::vector<float> scales(static_cast<size_t>(channels.count), 0.F);
  for (size_t i = 0; i < weights.size(); ++i) {
    float& largest = scales[channels.of(static_cast<int64_t>(i))];
    largest = std::max(largest, std::fabs(weights[i]));
  }
  for (float& scale : scales) scale = scale == 0 ? 1 : std::max(int8_scale(static_cast<double>(scale)), FLT_MIN);
  return scales;
}

int8_t rounded(float weight, float scale) {
  return static_cast<int8_t>(std::clamp(std::nearbyint(weight / scale), -127.F, 127.F));
}

}  // namespace

Result<bool> WeightQuantizer::quantizable(Node& node) {
  const Value* const weights = node.input(1);
  if (weights == nullptr || weights->dtype() != DType::kF32 || weights->rank() < 2) return false;
  WOOTZ_ASSIGN_OR_RETURN(const bool known, fold(graph_, node.input(1)));
  if (!known) return false;
  const HostTensor& constant = node.input(1)->constant();
  if (constant.volume() == 0 || products_of_a_sum(node, constant.dims()) > kMostProducts) return false;
  const std::span<const float> values = constant.as<float>();
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

Status WeightQuantizer::quantize(Node* node) {
  const Value* const weights = node->input(1);
  const HostTensor& constant = weights->constant();
  const int axis = channel_axis(*node, constant.rank());
  Value*& made = made_[{weights, axis}];
  if (made == nullptr) {
    const Channels channels = channels_of(constant.dims(), axis);
    const std::vector<float> scales = channel_scales(constant.as<float>(), channels);
    WOOTZ_ASSIGN_OR_RETURN(HostTensor bytes, HostTensor::allocate(DType::kI8, constant.dims()));
    WOOTZ_ASSIGN_OR_RETURN(HostTensor steps, HostTensor::allocate(DType::kF32, channels.scale_dims));
    std::copy(scales.begin(), scales.end(), steps.as_mutable<float>().begin());
    const std::span<const float> values = constant.as<float>();
    for (size_t i = 0; i < values.size(); ++i)
      bytes.as_mutable<int8_t>()[i] = rounded(values[i], scales[channels.of(static_cast<int64_t>(i))]);
    const std::string& name = weights->name();
    Node* const back = graph_.add_node(*find_op("Dequantize"), graph_.unique_name(name + "_dequantize"),
                                       {graph_.add_constant(graph_.unique_name(name + "_i8"), std::move(bytes)),
                                        graph_.add_constant(graph_.unique_name(name + "_scale"), std::move(steps))},
                                       {}, 1, graph_.first());
    WOOTZ_RETURN_IF_ERROR(infer_node(*back));
    made = back->output();
  }
  node->set_input(1, made);
  return Status();
}

}  // namespace wootz
