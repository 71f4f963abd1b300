// Attention whose operands are dequantized from 8 bits reads the 8 bits themselves: their scales become attributes
// (ops/attention/attention_grids.h). What a decoder reads of its caches is then as few bytes as they have.
#include <algorithm>
#include <cmath>

#include "base/fp8.h"
#include "ops/attention/attention_grids.h"
#include "ops/attention/attention_view.h"
#include "ops/infer.h"
#include "passes/pass.h"
#include "passes/quantization/qdq.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

struct Grid {
  Node* dequantize = nullptr;
  Value* data = nullptr;
  std::vector<double> scale;  // one, one a head, or one for each element of each head
  double zero = 0;
};

std::optional<double> one_number(const HostTensor& values) {
  for (int64_t i = 1; i < values.volume(); ++i)
    if (values.get_f64(i) != values.get_f64(0)) return std::nullopt;
  return values.volume() == 0 ? 0 : values.get_f64(0);
}

bool all_scales(const HostTensor& values) {
  for (int64_t i = 0; i < values.volume(); ++i) {
    const double s = values.get_f64(i);
    if (!std::isfinite(s) || s < 0 || (values.volume() == 1 && s == 0)) return false;
  }
  return values.volume() > 0;
}

// Where head h, element d of [B, H, T, D] is along the operand's axes.
struct Place {
  size_t head_axis, element_axis;
  int64_t heads = 1, size = 1;
  ops::HeadsView view;
};

std::optional<Place> place_of(const Node& attention, int operand) {
  Place at{1, operand == 1 && attention.attr_int("k_transposed") != 0 ? size_t{2} : size_t{3}};
  const Shape& shape = attention.input(operand)->shape();
  if (!ops::HeadsView::read(attention, ops::view_attr(operand), shape, &at.view).empty()) return std::nullopt;
  const Shape heads = at.view.logical(shape);
  if (!heads[1].is_const() || !heads[at.element_axis].is_const()) return std::nullopt;
  at.heads = heads[1].value();
  at.size = heads[at.view.given ? 3 : at.element_axis].value();
  if (at.view.given) at.head_axis = at.element_axis = 2;
  return at;
}

// Scales of more than one value, by head or by head and element.
std::optional<std::vector<double>> scales_by_head(const Node& attention, int operand, const HostTensor& given) {
  const std::optional<Place> at = place_of(attention, operand);
  const auto rank = attention.input(operand)->shape().size();
  if (!at || given.dims().size() > rank) return std::nullopt;
  Dims dims = Dims::filled(static_cast<int>(rank - given.dims().size()), 1);
  for (const int64_t d : given.dims()) dims.push_back(d);
  for (size_t a = 0; a < rank; ++a)
    if (dims[a] != 1 && a != at->head_axis && a != at->element_axis) return std::nullopt;
  if (at->view.given) {
    std::vector<double> scale;
    for (int64_t h = 0; h < at->heads; ++h)
      for (int64_t d = 0; d < at->size; ++d) scale.push_back(given.get_f64(at->view.offset + h * at->view.stride + d));
    return scale;
  }
  const int64_t heads = dims[at->head_axis], size = dims[at->element_axis];
  if ((heads != 1 && heads != at->heads) || (size != 1 && size != at->size)) return std::nullopt;
  std::vector<double> scale;
  for (int64_t h = 0; h < at->heads; ++h)
    for (int64_t d = 0; d < size; ++d) scale.push_back(given.get_f64((heads == 1 ? 0 : h) * size + d));
  return scale;
}

std::optional<Grid> grid_of(const Node& attention, int operand) {
  Node* const n = attention.input(operand)->producer();
  if (n == nullptr || !n->is("Dequantize") || !is_model_float(n->output()->dtype())) return std::nullopt;
  Grid grid{n, n->input(0), {}};
  const DType type = grid.data->dtype();
  if ((!is_int8(type) && !is_fp8(type)) || grid.data->is_constant()) return std::nullopt;
  const Value *scale = n->input(1), *zero = n->input(2);
  if (!scale->is_constant() || !all_scales(scale->constant())) return std::nullopt;
  if (zero != nullptr) {
    const std::optional<double> one = zero->is_constant() ? one_number(zero->constant()) : std::nullopt;
    if (!one || (*one != 0 && !is_int8(type))) return std::nullopt;
    grid.zero = *one;
  }
  if (scale->constant().volume() == 1) {
    grid.scale = {scale->constant().get_f64(0)};
    return grid;
  }
  std::optional<std::vector<double>> scales = scales_by_head(attention, operand, scale->constant());
  if (!scales) return std::nullopt;
  grid.scale = std::move(*scales);
  return grid;
}

Result<bool> take_in(Node* attention) {
  if (attention->num_outputs() != 1 || !attention->has_attr("scale")) return false;
  bool changed = false;
  for (const int i : {1, 2, 0}) {
    // A query's bytes are multiplied where weights are rounded, too.
    if (i == 0 &&
        (!attention->has_attr("p_scale") || !attention->has_attr("k_scale") || !attention->has_attr("v_scale")))
      continue;
    std::optional<Grid> grid = grid_of(*attention, i);
    if (!grid || (i == 0 && grid->scale.size() != 1)) continue;
    if (i == 0 && attention->output()->dtype() != DType::kF32)
      attention->set_attr("to", std::string(dtype_name(attention->output()->dtype())));
    attention->set_attr(ops::scale_attr(i), grid->scale);
    if (grid->zero != 0) attention->set_attr(ops::zero_attr(i), grid->zero);
    attention->set_input(i, grid->data);
    attention->add_provenance(*grid->dequantize);
    erase_if_dead(*attention->graph(), grid->dequantize);
    changed = true;
  }
  if (changed) WOOTZ_RETURN_IF_ERROR(infer_node(*attention));
  return changed;
}

}  // namespace

Result<bool> fuse_qdq_attention(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    if (!node->is("Attention")) continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool taken, take_in(node));
    changed = changed || taken;
  }
  return changed;
}

}  // namespace wootz
