// Forms that no kernel family has and that say nothing new: GEMMs with vectors are GEMMs with matrices of one row
// or column, and padding that follows from known extents is a list of numbers.
#include <algorithm>

#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/support/window.h"
#include "passes/pass.h"
#include "passes/support/replacement.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

Result<bool> widen_vectors(Graph& graph, Node* node) {
  if (!node->is("MatMul") || node->num_inputs() != 2 || node->has_attr("epilogue")) return false;
  const bool row = node->input(0)->rank() == 1, column = node->input(1)->rank() == 1;
  if ((!row && !column) || node->attr_int("trans_a") != 0 || node->attr_int("trans_b") != 0) return false;
  Value *a = node->input(0), *b = node->input(1);
  const int rank = node->output()->rank();
  Replacement replacement(graph, node);
  if (row) a = replacement.unsqueeze(a, {0});
  if (column) b = replacement.unsqueeze(b, {1});
  Value* y = replacement.op("MatMul", {a, b}, node->attrs());
  std::vector<int64_t> axes;
  if (row) axes.push_back(rank + (column ? 0 : -1));
  if (column) axes.push_back(rank + (row ? 1 : 0));
  y = replacement.squeeze(y, std::move(axes));
  if (replacement.failed()) return replacement.status();
  replace_and_erase(graph, node->output(), y);
  return true;
}

bool canonicalize_padding(Node* node) {
  if (!node->has_attr("auto_pad")) return false;  // so it has an input: a constant has none
  const int rank = node->input(0)->rank();
  if (rank < 3) return false;
  const Result<Window> window = read_window(*node, rank - 2);
  if (!window.ok()) return false;
  std::vector<int64_t> kernel = node->attr_ints("kernel");
  if (node->is("Conv") || node->is("ConvInteger")) {
    kernel.clear();
    for (size_t i = 2; i < node->input(1)->shape().size(); ++i) {
      const Dim& d = node->input(1)->shape()[i];
      if (!d.is_const()) return false;
      kernel.push_back(d.value());
    }
  }
  const auto spatial = static_cast<size_t>(window->rank);
  std::vector<int64_t> pads(2 * spatial, 0);
  if (kernel.size() != spatial && window->auto_pad != AutoPad::kExplicit && window->auto_pad != AutoPad::kValid)
    return false;
  for (size_t i = 0; i < spatial; ++i) {
    if (window->auto_pad == AutoPad::kExplicit) {
      pads[i] = window->begins[i];
      pads[i + spatial] = window->ends[i];
      continue;
    }
    if (window->auto_pad == AutoPad::kValid) continue;
    const auto total = window_padding(*window, static_cast<int>(i), node->input(0)->shape()[i + 2], kernel[i]);
    if (!total) return false;
    pads[i] = window->auto_pad == AutoPad::kSameUpper ? *total / 2 : *total - *total / 2;
    pads[i + spatial] = *total - pads[i];
  }
  node->remove_attr("auto_pad");
  if (window->auto_pad != AutoPad::kExplicit) node->remove_attr("ceil_mode");  // whole windows only
  node->set_attr("pads", std::move(pads));
  return true;
}

}  // namespace

Result<bool> canonicalize(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    if (canonicalize_padding(node)) {
      WOOTZ_RETURN_IF_ERROR(infer_node(*node));
      changed = true;
    }
    WOOTZ_ASSIGN_OR_RETURN(const bool widened, widen_vectors(graph, node));
    changed = changed || widened;
  }
  return changed;
}

}  // namespace wootz
