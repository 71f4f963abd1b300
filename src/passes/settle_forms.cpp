// Forms that no kernel family has and that say nothing new: products with vectors are products with matrices of one row
// or column, and padding that follows from known extents is a list of numbers.
#include <algorithm>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace wootz {
namespace {

Result<Value*> emit(Graph& graph, Node* before, std::string_view name, std::vector<Value*> inputs, AttrMap attrs) {
  Node* made =
      graph.add_node(op(name), graph.unique_name(before->name()), std::move(inputs), std::move(attrs), 1, before);
  made->add_provenance(*before);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  return made->output();
}

Result<bool> widen_vectors(Graph& graph, Node* node) {
  if (!node->is("MatMul") || node->num_inputs() != 2 || node->has_attr("epilogue")) return false;
  const bool row = node->input(0)->rank() == 1, column = node->input(1)->rank() == 1;
  if ((!row && !column) || node->attr_int("trans_a") != 0 || node->attr_int("trans_b") != 0) return false;
  Value *a = node->input(0), *b = node->input(1);
  const int rank = node->output()->rank();
  if (row) {
    WOOTZ_ASSIGN_OR_RETURN(a, emit(graph, node, "Unsqueeze", {a}, {{"axes", std::vector<int64_t>{0}}}));
  }
  if (column) {
    WOOTZ_ASSIGN_OR_RETURN(b, emit(graph, node, "Unsqueeze", {b}, {{"axes", std::vector<int64_t>{1}}}));
  }
  WOOTZ_ASSIGN_OR_RETURN(Value * y, emit(graph, node, "MatMul", {a, b}, node->attrs()));
  std::vector<int64_t> axes;
  if (row) axes.push_back(rank + (column ? 0 : -1));
  if (column) axes.push_back(rank + (row ? 1 : 0));
  WOOTZ_ASSIGN_OR_RETURN(y, emit(graph, node, "Squeeze", {y}, {{"axes", std::move(axes)}}));
  replace_and_erase(graph, node->output(), y);
  return true;
}

// Where the extent does not matter, or is known.
std::optional<int64_t> total_padding(const Dim& in, int64_t span, int64_t stride) {
  if (stride == 1) return span - 1;
  if (!in.is_const()) return std::nullopt;
  const int64_t out = (in.value() + stride - 1) / stride;
  return std::max<int64_t>(0, (out - 1) * stride + span - in.value());
}

bool settle_padding(Node* node) {
  const std::string mode = node->attr_string("auto_pad");
  if (!node->has_attr("auto_pad")) return false;
  const bool upper = mode == "SAME_UPPER", lower = mode == "SAME_LOWER";
  const int rank = node->input(0)->rank();
  if (rank < 3) return false;
  const auto spatial = static_cast<size_t>(rank - 2);
  std::vector<int64_t> kernel = node->attr_ints("kernel");
  if (node->is("Conv") || node->is("ConvInteger")) {
    kernel.clear();
    for (size_t i = 2; i < node->input(1)->shape().size(); ++i) {
      const Dim& d = node->input(1)->shape()[i];
      if (!d.is_const()) return false;
      kernel.push_back(d.value());
    }
  }
  const std::vector<int64_t> ones(spatial, 1), strides = node->attr_ints("strides", ones),
                                               dilations = node->attr_ints("dilations", ones);
  std::vector<int64_t> pads(2 * spatial, 0);
  if (upper || lower) {
    if (kernel.size() != spatial || strides.size() != spatial || dilations.size() != spatial) return false;
    for (size_t i = 0; i < spatial; ++i) {
      const auto total = total_padding(node->input(0)->shape()[i + 2], (kernel[i] - 1) * dilations[i] + 1, strides[i]);
      if (!total) return false;
      pads[i] = upper ? *total / 2 : *total - *total / 2;
      pads[i + spatial] = *total - pads[i];
    }
  } else if (mode == "NOTSET") {
    pads = node->attr_ints("pads", pads);
  } else if (mode != "VALID") {
    return false;
  }
  node->remove_attr("auto_pad");
  if (upper || lower || mode == "VALID") node->remove_attr("ceil_mode");  // whole windows only
  node->set_attr("pads", std::move(pads));
  return true;
}

}  // namespace

Result<bool> settle_forms(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    if (settle_padding(node)) {
      WOOTZ_RETURN_IF_ERROR(infer_node(*node));
      changed = true;
    }
    WOOTZ_ASSIGN_OR_RETURN(const bool widened, widen_vectors(graph, node));
    changed = changed || widened;
  }
  return changed;
}

}  // namespace wootz
