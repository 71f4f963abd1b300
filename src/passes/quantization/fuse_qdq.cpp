// Convolutions and GEMMs of dequantized operands take the int8 values themselves: the Dequantize in front of each
// operand becomes attributes (ops/support/quant_attrs.h). A Quantize after it then becomes part of the epilogue like
// any pointwise op. Rows that were quantized by scales of their own (op QuantizeRows) leave these to the product, too.
#include <algorithm>

#include "ops/infer.h"
#include "passes/fusion/scale_weights.h"
#include "passes/pass.h"
#include "passes/quantization/qdq.h"
#include "passes/support/rewrite.h"

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

// What the second operand would be in a form that kernels have: i8, zero points 0 (GEMMs: one zero point).
struct Weights {
  Node* dequantize = nullptr;
  Value* data = nullptr;  // 8 bits; in u8 still to be moved by 128
  std::vector<double> scale, zero;
  std::vector<Node*> chain;  // of a moved activation: its Quantize, and what moves elements after it
};

// An 8-bit activation whose readers are all Dequantize can lie in the other 8-bit type: every value and the zero point
// move by 128.
bool movable_to_i8(const Graph& graph, Value* v, std::vector<Node*>* chain) {
  for (const Use& use : v->uses())
    if (!use.node->is("Dequantize") || use.index != 0 || use.node->input(2) == nullptr || !read_grid(*use.node))
      return false;
  for (Value* at = v;; at = at->producer()->input(0)) {
    Node* producer = at->producer();
    if (producer == nullptr || graph.is_output(at) || (at != v && only_user(at) == nullptr)) return false;
    chain->insert(chain->begin(), producer);
    if (producer->is("Quantize")) {
      const auto grid = read_grid(*producer);
      return grid && grid->type == DType::kU8 && grid->zero != nullptr;
    }
    const bool moves = producer->is("Transpose") || producer->is("Reshape") || producer->is("Flatten") ||
                       producer->is("Squeeze") || producer->is("Unsqueeze");
    if (!moves || producer->num_outputs() != 1) return false;
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

Result<Weights> read_weights(const Node& node) {
  Weights w;
  w.dequantize = dequantize_of(node.input(1));
  if (w.dequantize == nullptr) return unsupported("its second operand is in float");
  std::string why;
  const auto grid = read_grid(*w.dequantize, &why);
  if (!grid) return unsupported("of its second operand, {}", why);
  w.data = w.dequantize->input(0);
  const bool constant = w.data->is_constant();
  if (!constant && !node.is("MatMul")) return unsupported("its weights are computed while running");
  if (grid->per_tensor) {
    w.scale = {grid->s};
    w.zero = {grid->z};
  } else {
    const int axis = scale_axis(node, *w.data);
    if (axis < 0 || !constant) return unsupported("the scales of its second operand vary");
    const int64_t channels = w.data->constant().dims()[static_cast<size_t>(axis)];
    auto scale = per_channel(grid->scale, w.data->rank(), axis, channels);
    std::optional<std::vector<double>> zero{{0.0}};
    if (grid->zero != nullptr) zero = per_channel(grid->zero, w.data->rank(), axis, channels);
    if (!scale || !zero) return unsupported("the scales of its weights vary along another axis than the output's");
    w.scale = std::move(*scale);
    w.zero = std::move(*zero);
  }
  const bool from_u8 = w.data->dtype() == DType::kU8;
  if (from_u8)
    for (double& z : w.zero) z -= 128;
  const bool one = std::all_of(w.zero.begin(), w.zero.end(), [&](double z) { return z == w.zero[0]; });
  if (!one || (w.zero[0] != 0 && !node.is("MatMul")))
    return unsupported("its weights have a zero point other than {}", from_u8 ? 128 : 0);
  w.zero.resize(1);
  if (from_u8 && !constant && !movable_to_i8(*node.graph(), w.data, &w.chain))
    return unsupported("its second operand is u8 and also read otherwise");
  return w;
}

// A bias in i32 after a Dequantize is one in f32.
bool is_constant_bias(const Node* dequantize) { return dequantize != nullptr && dequantize->input(0)->is_constant(); }

bool has_int8_form(const Node& node) {
  if (!node.is("Conv") && !node.is("ConvTranspose") && !node.is("MatMul")) return false;
  return !node.has_attr("x_scale") && !node.has_attr("epilogue") && node.num_outputs() == 1;
}

// Of a Dequantize of rows by the scales that they were quantized by: these; null: it is another one.
Value* row_scales(const Node& dequantize) {
  const Node* const rows = dequantize.input(0)->producer();
  const bool own = rows != nullptr && rows->is("QuantizeRows") && dequantize.input(0) == rows->output(0) &&
                   dequantize.input(1) == rows->output(1) && dequantize.input(2) == nullptr &&
                   is_int8(dequantize.input(0)->dtype()) && dequantize.output()->dtype() == DType::kF32;
  return own ? dequantize.input(1) : nullptr;
}

struct Int8Form {
  Node* data = nullptr;   // Dequantize
  Value* rows = nullptr;  // its scales, one for each row; null: it has one, which is constant
  Weights weights;
};

// A product of rows with scales of their own.
Status check_rows(const Node& node) {
  if (!node.is("MatMul") || node.attr_int("trans_a", 0) != 0 || node.num_inputs() > 3)
    return unsupported("rows with scales of their own are no first operand of it");
  if (!node.input(1)->producer() || !node.input(1)->producer()->input(0)->is_constant() || node.input(1)->rank() != 2)
    return unsupported("rows with scales of their own are multiplied by no constant matrix");
  return Status();
}

Result<Int8Form> int8_form(const Node& node) {
  if (!has_int8_form(node)) return unsupported("it has no 8-bit form");
  if (node.has_attr("auto_pad")) return unsupported("its padding follows from extents");
  if (node.input(0)->rank() < 2 || node.input(1)->rank() < 2) return unsupported("an operand is a vector");
  Int8Form form;
  form.data = dequantize_of(node.input(0));
  if (form.data == nullptr) return unsupported("its first operand is in float");
  form.rows = row_scales(*form.data);
  if (form.rows != nullptr) {
    WOOTZ_RETURN_IF_ERROR(check_rows(node));
  } else {
    std::string why;
    const auto grid = read_grid(*form.data, &why);
    if (!grid) return unsupported("of its first operand, {}", why);
    if (!grid->per_tensor) return unsupported("the scales of its first operand vary");
  }
  if (form.data->input(0)->is_constant()) return unsupported("its first operand is a constant");
  if (const int64_t n = reduction_length(node, *node.input(1)); n > kMaxReduction)
    return unsupported("an int32 may not hold sums of {} products", n);
  if (const Value* bias = node.input(2); bias != nullptr && bias->dtype() != DType::kF32)
    return unsupported("its bias is {}", dtype_name(bias->dtype()));
  WOOTZ_ASSIGN_OR_RETURN(form.weights, read_weights(node));
  return form;
}

Status apply(Graph& graph, Node* node, Int8Form form) {
  Weights& w = form.weights;
  if (!w.chain.empty()) {
    WOOTZ_RETURN_IF_ERROR(move_to_i8(graph, w.data, w.chain));
  } else if (w.data->dtype() == DType::kU8) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor moved, moved_by_128(w.data->constant()));
    w.data = graph.add_constant(graph.unique_name(w.data->name()), std::move(moved));
  }
  if (Node* bias = dequantize_of(node->input(2)); is_constant_bias(bias)) {
    node->add_provenance(*bias);
    WOOTZ_RETURN_IF_ERROR(fold_node(graph, bias).status());
  }
  // Read only now: where both operands are one value, moving it to i8 moved this one as well.
  const auto grid = form.rows == nullptr ? read_grid(*form.data) : QuantGrid();
  node->set_attr("x_scale", std::vector<double>{grid->s});
  node->set_attr("x_zero", std::vector<double>{grid->z});
  if (form.rows != nullptr) {
    if (node->num_inputs() < 3) node->add_input(nullptr);
    node->add_input(form.rows);
  }
  node->set_attr("w_scale", w.scale);
  if (w.zero[0] != 0) node->set_attr("w_zero", w.zero);
  node->set_input(0, form.data->input(0));
  node->set_input(1, w.data);
  node->add_provenance(*form.data);
  node->add_provenance(*w.dequantize);
  WOOTZ_RETURN_IF_ERROR(infer_node(*node));
  erase_if_dead(graph, form.data);
  if (w.dequantize != form.data) erase_if_dead(graph, w.dequantize);
  return Status();
}

}  // namespace

Status computes_in_8_bits(const Node& node) {
  if (node.has_attr("x_scale")) return Status();
  return int8_form(node).status();
}

Result<bool> fuse_qdq(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    Result<Int8Form> form = int8_form(*node);
    if (!form.ok()) continue;
    WOOTZ_RETURN_IF_ERROR(apply(graph, node, std::move(form).value()));
    changed = true;
  }
  return changed;
}

}  // namespace wootz
