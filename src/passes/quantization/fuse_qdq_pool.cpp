// Averages of dequantized data read the 8 bits themselves. A mean over all spatial axes is such an average.
#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/quantization/qdq.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

bool is_average(const Node& node) {
  return node.is("Pool") && node.attr_string("kind") == "avg" && node.num_outputs() == 1 && !node.has_attr("x_scale") &&
         !node.has_attr("epilogue") && !node.has_attr("auto_pad");
}

}  // namespace

Result<bool> fuse_average(Graph& graph, Node* node, ReadGrid read) {
  if (!is_average(*node) && !(is_spatial_mean(*node) && node->input(0)->rank() <= 5)) return false;
  Node* dequantize = node->input(0)->producer();
  const std::optional<QuantGrid> grid = dequantize == nullptr ? std::nullopt : read(*dequantize);
  if (!grid || !dequantize->is("Dequantize") || !grid->per_tensor || dequantize->input(0)->is_constant()) return false;
  const bool mean = !node->is("Pool");
  AttrMap attrs = mean ? AttrMap{{"kind", std::string("avg")}, {"global", int64_t{1}}} : node->attrs();
  attrs["x_scale"] = std::vector<double>{grid->s};
  attrs["x_zero"] = std::vector<double>{grid->z};
  Node* made =
      graph.add_node(op("Pool"), graph.unique_name(node->name()), {dequantize->input(0)}, std::move(attrs), 1, node);
  made->add_provenance(*dequantize);
  made->add_provenance(*node);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  Value* y = made->output();
  if (mean && node->attr_int("keepdims", 1) == 0) {
    std::vector<int64_t> axes;
    for (int64_t i = 2; i < y->rank(); ++i) axes.push_back(i);
    Node* squeeze = graph.add_node(op("Squeeze"), graph.unique_name(node->name()), {y}, {{"axes", axes}}, 1, node);
    squeeze->add_provenance(*node);
    WOOTZ_RETURN_IF_ERROR(infer_node(*squeeze));
    y = squeeze->output();
  }
  if (const DType type = node->output()->dtype(); y->dtype() != type) {
    Node* cast = graph.add_node(op("Cast"), graph.unique_name(node->name()), {y},
                                {{"to", std::string(dtype_name(type))}}, 1, node);
    cast->add_provenance(*node);
    WOOTZ_RETURN_IF_ERROR(infer_node(*cast));
    y = cast->output();
  }
  take_place(graph, node->output(), y);
  return true;
}

Result<bool> fuse_qdq_pool(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    const auto read = [](const Node& dequantize) { return read_grid(dequantize); };
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, fuse_average(graph, node, read));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
