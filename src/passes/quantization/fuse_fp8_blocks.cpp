// Products of packed floats of 8 bits (WeightOnlyMatMul) whose other operand is dequantized from such with scales that
// inference finds, of blocks of each row, read the 8 bits of both (op BlockMatMul). It is for devices that compute so;
// the build leaves it out on others.
#include <algorithm>

#include "base/fp8.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/quantization/qdq.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr int64_t kLine = 128;        // of a sum: what kernels add up before they scale it
constexpr int64_t kColumns = 8;       // are stored at once
constexpr int64_t kSideBySide = 128;  // columns of w that may share a scale

struct BlockForm {
  Node* dequantize = nullptr;
  Value *x = nullptr, *scales = nullptr;
  int64_t depth = 0, columns = 0;
};

bool same_front(const Shape& a, const Shape& b, size_t count) {
  return a.size() >= count && b.size() >= count &&
         std::equal(a.begin(), a.begin() + static_cast<ptrdiff_t>(count), b.begin());
}

std::optional<BlockForm> form_of(const Node& node) {
  if (!node.is("WeightOnlyMatMul") || node.has_attr("epilogue") || node.input(3) != nullptr) return std::nullopt;
  if (!is_fp8(node.input(1)->dtype()) || !node.input(1)->is_constant() || !node.input(2)->is_constant())
    return std::nullopt;
  Node* made = node.input(0)->producer();
  while (made != nullptr && is_reshape(*made)) made = made->input(0)->producer();
  if (made == nullptr || !made->is("Dequantize") || !is_fp8(made->input(0)->dtype())) return std::nullopt;
  if (made->input(2) != nullptr && !all_zeros(*made->input(2))) return std::nullopt;
  BlockForm form{made, made->input(0), made->input(1)};
  const Dims& w = node.input(1)->constant().dims();
  const bool transposed = node.attr_int("trans_b", 0) != 0;
  form.depth = w[transposed ? 1 : 0];
  form.columns = w[transposed ? 0 : 1];
  if (form.x->dtype() == DType::kF8E5M2 && node.input(1)->dtype() == DType::kF8E5M2) return std::nullopt;
  if (form.scales->dtype() != DType::kF32 || form.columns % kColumns != 0) return std::nullopt;
  const Shape& x = form.x->shape();
  const Shape &rows = node.input(0)->shape(), &scales = form.scales->shape();
  if (x.size() < 2 || !x.back().is_const() || form.depth % kLine != 0) return std::nullopt;
  const int64_t block = x.back().value();
  const size_t axes = block == form.depth ? 1 : 2;
  if (block % kLine != 0 || node.attr_int("block") % kLine != 0 || x.size() != rows.size() + axes - 1)
    return std::nullopt;
  if (axes == 2 && !(x[x.size() - 2] == Dim(form.depth / block))) return std::nullopt;
  if (!same_front(x, rows, rows.size() - 1) || scales.size() != x.size() || !(scales.back() == Dim(1)) ||
      !same_front(x, scales, x.size() - 1))
    return std::nullopt;
  return form;
}

// The matrix as [columns, depth].
Result<HostTensor> by_columns(const Node& node, const BlockForm& form) {
  const HostTensor& w = node.input(1)->constant();
  if (node.attr_int("trans_b", 0) != 0) return w;
  WOOTZ_ASSIGN_OR_RETURN(HostTensor transposed, HostTensor::allocate(w.dtype(), Dims{form.columns, form.depth}));
  const auto* from = static_cast<const std::byte*>(w.data());
  auto* to = static_cast<std::byte*>(transposed.mutable_data());
  for (int64_t k = 0; k < form.depth; ++k)
    for (int64_t n = 0; n < form.columns; ++n) to[n * form.depth + k] = from[k * form.columns + n];
  return transposed;
}

// One for as many columns as share it; with the product's factor.
Result<HostTensor> scales_of(const Node& node, const BlockForm& form, int64_t* side) {
  const HostTensor& all = node.input(2)->constant();
  const int64_t blocks = all.dims()[0];
  bool shared = true;
  for (int64_t b = 0; b < blocks && shared; ++b)
    for (int64_t n = 0; n < form.columns && shared; ++n)
      shared = all.get_f64(b * form.columns + n) == all.get_f64(b * form.columns + n / kSideBySide * kSideBySide);
  *side = shared ? kSideBySide : 1;
  const int64_t count = (form.columns + *side - 1) / *side;
  WOOTZ_ASSIGN_OR_RETURN(HostTensor made, HostTensor::allocate(DType::kF32, Dims{blocks, count}));
  const double factor = node.attr_float("alpha", 1);
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t i = 0; i < count; ++i) made.set_f64(b * count + i, all.get_f64(b * form.columns + i * *side) * factor);
  return made;
}

Status apply(Graph& graph, Node* node, const BlockForm& form) {
  const auto emit = [&](const char* name, std::vector<Value*> inputs, AttrMap attrs) -> Result<Value*> {
    Node* const n =
        graph.add_node(op(name), graph.unique_name(node->name()), std::move(inputs), std::move(attrs), 1, node);
    n->add_provenance(*node);
    n->add_provenance(*form.dequantize);
    WOOTZ_RETURN_IF_ERROR(infer_node(*n));
    return n->output();
  };
  int64_t side = 1;
  WOOTZ_ASSIGN_OR_RETURN(HostTensor w, by_columns(*node, form));
  WOOTZ_ASSIGN_OR_RETURN(HostTensor scales, scales_of(*node, form, &side));
  Value* const weights = graph.add_constant(graph.unique_name(node->input(1)->name()), std::move(w));
  Value* const of_w = graph.add_constant(graph.unique_name(node->input(2)->name()), std::move(scales));
  AttrMap attrs{{"w_block", node->attr_int("block")}, {"w_columns", side}, {"x_scale", std::vector<double>{1}}};
  WOOTZ_ASSIGN_OR_RETURN(Value * y, emit("BlockMatMul", {form.x, form.scales, weights, of_w}, std::move(attrs)));
  if (const DType type = node->output()->dtype(); type != DType::kF32) {
    WOOTZ_ASSIGN_OR_RETURN(y, emit("Cast", {y}, {{"to", std::string(dtype_name(type))}}));
  }
  take_place(graph, node->output(), y);
  return Status();
}

}  // namespace

Result<bool> fuse_fp8_blocks(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    const std::optional<BlockForm> form = form_of(*node);
    if (!form) continue;
    WOOTZ_RETURN_IF_ERROR(apply(graph, node, *form));
    changed = true;
  }
  return changed;
}

}  // namespace wootz
