// Convolutions and products of dequantized operands take the 8-bit values themselves: the Dequantize in front of each
// operand becomes attributes (ops/quant_attrs.h). A Quantize behind then becomes part of the epilogue like any
// pointwise op.
#include <algorithm>

#include "ops/infer.h"
#include "ops/interpreter.h"
#include "passes/pass.h"
#include "passes/qdq.h"
#include "passes/rewrite.h"
#include "passes/scale_weights.h"

namespace wootz {
namespace {

// Sums of this many products of 8 bits fit an int32.
constexpr int64_t kMaxReduction = 65536;

Node* dequantize_of(const Value* v) {
  Node* n = v == nullptr ? nullptr : v->producer();
  return n != nullptr && n->is("Dequantize") ? n : nullptr;
}

// Axis of w along which its scales may vary.
int scale_axis(const Node& node, const Value& w) {
  if (node.is("Conv")) return 0;
  if (node.is("ConvTranspose")) return node.attr_int("groups", 1) == 1 ? 1 : -1;
  return w.rank() - (node.attr_int("trans_b", 0) != 0 ? 2 : 1);
}

int64_t reduction_length(const Node& node, const Value& w) {
  const auto extent = [&](int axis) {
    const Dim& d = w.shape()[static_cast<size_t>(axis)];
    return d.is_const() ? d.value() : kMaxReduction;
  };
  if (node.is("MatMul")) return extent(w.rank() - (node.attr_int("trans_b", 0) != 0 ? 1 : 2));
  int64_t n = extent(node.is("Conv") ? 1 : 0);
  for (int i = 2; i < w.rank(); ++i) n *= extent(i);
  return n;
}

struct Weights {
  Node* dequantize = nullptr;
  Value* data = nullptr;  // 8 bits
  std::vector<double> scale, zero;
};

// An 8-bit activation whose readers are all Dequantize can lie in the other 8-bit type: every value and the zero point
// move by 128. `found`: the Quantize, and what moves its elements behind it, first to last.
bool movable_to_i8(const Graph& graph, Value* v, std::vector<Node*>* found) {
  for (Value* at = v;;) {
    Node* producer = at->producer();
    if (producer == nullptr || graph.is_output(at)) return false;
    for (const Use& use : at->uses())
      if (at == v ? !use.node->is("Dequantize") || !read_grid(*use.node) || use.index != 0 : only_user(at) == nullptr)
        return false;
    found->insert(found->begin(), producer);
    if (producer->is("Quantize")) {
      const auto grid = read_grid(*producer);
      return grid && grid->type == DType::kU8 && grid->zero != nullptr;
    }
    const bool moves = producer->is("Transpose") || producer->is("Reshape") || producer->is("Flatten") ||
                       producer->is("Squeeze") || producer->is("Unsqueeze");
    if (!moves || producer->num_outputs() != 1) return false;
    at = producer->input(0);
  }
}

Result<HostTensor> moved_by_128(const HostTensor& u8) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor i8, HostTensor::allocate(DType::kI8, u8.dims()));
  for (int64_t i = 0; i < u8.volume(); ++i) i8.set_i64(i, u8.get_i64(i) - 128);
  return i8;
}

Status move_to_i8(Graph& graph, Value* v, const std::vector<Node*>& chain) {
  std::vector<Node*> grids{chain.front()};
  for (const Use& use : v->uses()) grids.push_back(use.node);
  for (Node* node : grids) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor zero, moved_by_128(node->input(2)->constant()));
    node->set_input(2, graph.add_constant(graph.unique_name(node->input(2)->name()), std::move(zero)));
  }
  chain.front()->set_attr("to", std::string(dtype_name(DType::kI8)));
  for (Node* node : chain) {
    WOOTZ_RETURN_IF_ERROR(infer_node(*node));
    node->output()->set_new_meaning(graph.unique_name(node->output()->name()));
  }
  for (const Use& use : v->uses()) WOOTZ_RETURN_IF_ERROR(infer_node(*use.node));
  return Status();
}

// The second operand in a form that kernels have: i8, zero points 0 (products: one zero point). Nothing changes in the
// graph unless all of it fits.
Result<std::optional<Weights>> read_weights(Graph& graph, Node* node) {
  using None = std::optional<Weights>;
  Weights w;
  w.dequantize = dequantize_of(node->input(1));
  if (w.dequantize == nullptr) return None{};
  const auto grid = read_grid(*w.dequantize);
  if (!grid) return None{};
  w.data = w.dequantize->input(0);
  const bool constant = w.data->is_constant();
  const int axis = scale_axis(*node, *w.data);
  if (!constant && (!node->is("MatMul") || !grid->per_tensor)) return None{};
  if (grid->per_tensor) {
    w.scale = {grid->s};
    w.zero = {grid->z};
  } else {
    if (axis < 0 || !constant) return None{};
    const int64_t channels = w.data->constant().dims()[static_cast<size_t>(axis)];
    auto scale = per_channel(grid->scale, w.data->rank(), axis, channels);
    if (!scale) return None{};
    w.scale = std::move(*scale);
    w.zero = {0};
    if (grid->zero != nullptr) {
      auto zero = per_channel(grid->zero, w.data->rank(), axis, channels);
      if (!zero) return None{};
      w.zero = std::move(*zero);
    }
  }
  const bool from_u8 = w.data->dtype() == DType::kU8;
  if (from_u8)
    for (double& z : w.zero) z -= 128;
  const bool one = std::all_of(w.zero.begin(), w.zero.end(), [&](double z) { return z == w.zero[0]; });
  if (!one || (w.zero[0] != 0 && !node->is("MatMul"))) return None{};
  w.zero.resize(1);
  if (from_u8 && constant) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor moved, moved_by_128(w.data->constant()));
    w.data = graph.add_constant(graph.unique_name(w.data->name()), std::move(moved));
  } else if (from_u8) {
    std::vector<Node*> chain;
    if (!movable_to_i8(graph, w.data, &chain)) return None{};
    for (const Use& use : w.data->uses())
      if (use.node->input(2) == nullptr) return None{};
    WOOTZ_RETURN_IF_ERROR(move_to_i8(graph, w.data, chain));
  }
  return std::optional<Weights>(std::move(w));
}

// A bias in i32 behind a Dequantize is one in f32.
Result<bool> plain_bias(Graph& graph, Node* node) {
  Value* bias = node->input(2);
  if (bias == nullptr) return true;
  Node* dequantize = dequantize_of(bias);
  if (dequantize != nullptr && dequantize->input(0)->is_constant()) {
    WOOTZ_ASSIGN_OR_RETURN(const bool folded, fold_node(graph, dequantize));
    if (!folded) return false;
    bias = node->input(2);
  }
  return bias->dtype() == DType::kF32;
}

bool has_int8_form(const Node& node) {
  if (!node.is("Conv") && !node.is("ConvTranspose") && !node.is("MatMul")) return false;
  if (node.has_attr("x_scale") || node.has_attr("epilogue") || node.has_attr("auto_pad")) return false;
  return node.num_outputs() == 1 && node.input(0)->rank() >= 2 && node.input(1)->rank() >= 2;
}

Result<bool> fuse(Graph& graph, Node* node) {
  Node* data = dequantize_of(node->input(0));
  if (data == nullptr || !has_int8_form(*node)) return false;
  const auto grid = read_grid(*data);
  if (!grid || !grid->per_tensor || data->input(0)->is_constant()) return false;
  if (reduction_length(*node, *node->input(1)) > kMaxReduction) return false;
  WOOTZ_ASSIGN_OR_RETURN(const std::optional<Weights> weights, read_weights(graph, node));
  if (!weights) return false;
  WOOTZ_ASSIGN_OR_RETURN(const bool plain, plain_bias(graph, node));
  if (!plain) return false;
  // Moving the second operand to i8 moves the first as well where they are one value.
  const auto now = read_grid(*data);
  Node* bytes = weights->dequantize;
  node->set_attr("x_scale", std::vector<double>{now->s});
  node->set_attr("x_zero", std::vector<double>{now->z});
  node->set_attr("w_scale", weights->scale);
  if (weights->zero[0] != 0) node->set_attr("w_zero", weights->zero);
  node->set_input(0, data->input(0));
  node->set_input(1, weights->data);
  node->add_provenance(*data);
  node->add_provenance(*bytes);
  WOOTZ_RETURN_IF_ERROR(infer_node(*node));
  erase_if_dead(graph, data);
  if (bytes != data) erase_if_dead(graph, bytes);
  return true;
}

}  // namespace

Result<bool> fuse_qdq(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    if (!has_int8_form(*node)) continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, fuse(graph, node));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
