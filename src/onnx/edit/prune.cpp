#include "onnx/edit/prune.h"

#include <cmath>
#include <cstring>

#include "base/two_of_four.h"
#include "onnx/edit/convert.h"

namespace wootz::importer {
namespace {

using ::onnx::NodeProto;
using ::onnx::TensorProto;

bool is_plain_float(int type) {
  return type == TensorProto::FLOAT || type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16;
}

class Pruner {
 public:
  explicit Pruner(GraphEdit& edit) : edit_(edit) {}

  Status prune(NodeProto* node, PrunedLayer* layer) {
    layer->weights = node->input(1);
    const TensorProto* const tensor = edit_.constant(layer->weights);
    int axis = 0;
    layer->why_not = reason(*node, tensor, &axis);
    if (!layer->why_not.empty()) return Status();
    const auto [found, fresh] = made_.try_emplace({layer->weights, axis});
    if (fresh) {
      WOOTZ_ASSIGN_OR_RETURN(found->second, pruned(*tensor, axis));
    }
    const Made& made = found->second;
    layer->why_not = made.why_not;
    layer->error = made.error;
    if (!made.name.empty()) node->set_input(1, made.name);
    return Status();
  }

 private:
  struct Made {
    std::string name;  // empty: they stay as they are
    std::string why_not;
    double error = 0;
  };

  // Why not; otherwise the axis of the sum.
  static std::string reason(const NodeProto& node, const TensorProto* tensor, int* axis) {
    if (tensor == nullptr) return "its weights are no constant";
    if (!is_plain_float(tensor->data_type())) return "its weights are in no type that is pruned";
    if (node.op_type() == "ConvTranspose") return "a transposed convolution is not pruned";
    const bool convolution = node.op_type() == "Conv";
    if (convolution ? tensor->dims_size() < 3 : tensor->dims_size() != 2) return "its weights are no matrix";
    const bool last = node.op_type() == "Gemm" && int_attribute(node, "transB", 0) != 0;
    *axis = convolution || last ? 1 : 0;
    if (const int64_t length = tensor->dims(*axis); length % 4 != 0)
      return fmt::format("{} {} are not in fours", length, convolution ? "channels" : "rows");
    return "";
  }

  Result<Made> pruned(const TensorProto& tensor, int axis) {
    WOOTZ_ASSIGN_OR_RETURN(const HostTensor whole, edit_.read(tensor));
    Made made;
    double all = 0;
    for (int64_t i = 0; i < whole.volume(); ++i) all += whole.get_f64(i) * whole.get_f64(i);
    if (!std::isfinite(all)) made.why_not = "its weights are not all finite";
    if (!made.why_not.empty() || is_two_of_four(whole, axis)) return made;
    WOOTZ_ASSIGN_OR_RETURN(HostTensor rest, HostTensor::allocate(whole.dtype(), whole.dims()));
    std::memcpy(rest.mutable_data(), whole.data(), whole.bytes());
    prune_two_of_four(&rest, axis);
    double kept = 0;
    for (int64_t i = 0; i < rest.volume(); ++i) kept += rest.get_f64(i) * rest.get_f64(i);
    made.error = all > 0 ? std::sqrt(std::max(0.0, all - kept) / all) : 0;
    made.name = edit_.add_constant(tensor.name() + "_pruned", rest);
    return made;
  }

  GraphEdit& edit_;
  std::map<std::pair<std::string, int>, Made> made_;
};

}  // namespace

Result<std::vector<PrunedLayer>> prune_layers(GraphEdit& edit, const FormatRules& rules) {
  std::vector<PrunedLayer> layers;
  Pruner pruner(edit);
  for (NodeProto& node : *edit.graph().mutable_node()) {
    if (!is_layer(node)) continue;
    PrunedLayer& layer = layers.emplace_back();
    const std::string name = layer_name(node);
    if (rules.keep.contains(name))
      layer.why_not = "kept in float";
    else
      WOOTZ_RETURN_IF_ERROR(pruner.prune(&node, &layer).with_prefix(fmt::format("layer '{}'", name)));
  }
  return layers;
}

void settle_pruning(GraphEdit& edit, const std::vector<PrunedLayer>& pruned, std::vector<EditedLayer>* layers) {
  size_t i = 0;
  for (NodeProto& node : *edit.graph().mutable_node()) {
    if (!is_layer(node) || i == pruned.size() || i == layers->size()) continue;
    const PrunedLayer& from = pruned[i];
    EditedLayer& to = (*layers)[i++];
    if (to.why_not.empty() && from.why_not.empty())
      to.pruned = from.error;
    else if (to.why_not.empty())
      to.not_pruned = from.why_not;
    else if (from.why_not.empty())
      node.set_input(1, from.weights);
  }
}

std::vector<EditedLayer> layers_in_float(GraphEdit& edit, const std::vector<PrunedLayer>& pruned) {
  std::vector<EditedLayer> layers;
  for (const NodeProto& node : edit.graph().node()) {
    if (!is_layer(node)) continue;
    layers.push_back(layer_of(node, NumberFormat::kFp32));
    if (layers.size() <= pruned.size()) layers.back().why_not = pruned[layers.size() - 1].why_not;
  }
  return layers;
}

}  // namespace wootz::importer
