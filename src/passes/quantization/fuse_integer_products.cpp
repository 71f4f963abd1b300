// ConvInteger and MatMulInteger whose sums go on in float become the quantized Conv and MatMul with scales of 1. A zero
// point that is computed while running (dynamic quantization) is subtracted after the GEMM: sum((x - z) w) = sum(x
// w) - z sum(w).
#include <algorithm>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/quantization/qdq.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr double kExactInFloat = 1 << 24;  // whole numbers up to here are floats
constexpr int64_t kMaxReduction = 65536;   // sums of this many products of 8 bits fit an int32

struct Product {
  bool conv = false;
  HostTensor weights;           // i8
  double w_zero = 0;            // for weights in i8
  double x_zero = 0;            // when it is known
  Value* x_zero_now = nullptr;  // when it is not
  int64_t channels = 0, reduction = 0;
};

// One value, known or not; the type's zero where there is none.
bool single(const Value* v) {
  if (v == nullptr || v->rank() == 0) return true;
  return v->rank() == 1 && v->shape()[0] == Dim(1);
}

std::optional<Product> read(const Node& node) {
  Product p;
  p.conv = node.is("ConvInteger");
  if ((!p.conv && !node.is("MatMulInteger")) || node.has_attr("auto_pad") || node.num_outputs() != 1)
    return std::nullopt;
  const Value *w = node.input(1), *x_zero = node.input(2), *w_zero = node.input(3);
  if (!w->is_constant() || node.input(0)->is_constant() || node.input(0)->rank() < 2) return std::nullopt;
  if (!is_int8(w->dtype()) || !is_int8(node.input(0)->dtype()) || (!p.conv && w->rank() != 2)) return std::nullopt;
  p.channels = w->constant().dims()[p.conv ? 0 : 1];
  if (p.channels < 1) return std::nullopt;
  p.reduction = w->constant().volume() / p.channels;
  if (p.reduction > kMaxReduction || !single(x_zero)) return std::nullopt;
  if (w_zero != nullptr) {
    if (!w_zero->is_constant() || w_zero->constant().volume() < 1) return std::nullopt;
    p.w_zero = w_zero->constant().get_f64(0);
    for (int64_t i = 0; i < w_zero->constant().volume(); ++i)
      if (w_zero->constant().get_f64(i) != p.w_zero) return std::nullopt;
  }
  const bool from_u8 = w->dtype() == DType::kU8;
  if (from_u8) p.w_zero -= 128;
  if (p.conv && p.w_zero != 0) return std::nullopt;
  if (x_zero != nullptr && x_zero->is_constant()) {
    p.x_zero = x_zero->constant().get_f64(0);
  } else if (x_zero != nullptr) {
    // Next to a border some products are missing, and what is subtracted would be another sum.
    const std::vector<int64_t> pads = node.attr_ints("pads");
    if (std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; })) return std::nullopt;
    p.x_zero_now = const_cast<Value*>(x_zero);
  }
  Result<HostTensor> moved = HostTensor::allocate(DType::kI8, w->constant().dims());
  if (!moved.ok()) return std::nullopt;
  for (int64_t i = 0; i < moved->volume(); ++i) moved->set_i64(i, w->constant().get_i64(i) - (from_u8 ? 128 : 0));
  p.weights = std::move(moved).value();
  return p;
}

// sum(w - w_zero) for each output channel, beside the channels of the result.
Result<HostTensor> weight_sums(const Product& p, int rank) {
  Dims dims{p.channels};
  for (int i = 2; p.conv && i < rank; ++i) dims.push_back(1);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor sums, HostTensor::allocate(DType::kF32, dims));
  std::vector<double> all(static_cast<size_t>(p.channels), 0);
  for (int64_t i = 0; i < p.weights.volume(); ++i)
    all[static_cast<size_t>(p.conv ? i / p.reduction : i % p.channels)] += p.weights.get_f64(i) - p.w_zero;
  for (int64_t c = 0; c < p.channels; ++c) sums.set_f64(c, all[static_cast<size_t>(c)]);
  return sums;
}

Result<bool> fuse(Graph& graph, Node* node) {
  std::optional<Product> p = read(*node);
  if (!p) return false;
  Node* reader = only_user(node->output());
  const bool to_float = reader != nullptr && reader->is("Cast") && reader->output()->dtype() == DType::kF32;
  const double bound = 255.0 * 255.0 * static_cast<double>(p->reduction) * (p->x_zero_now != nullptr ? 2 : 1);
  if (!to_float && bound >= kExactInFloat) return false;
  const auto emit = [&](std::string_view name, std::vector<Value*> inputs, AttrMap attrs) -> Result<Value*> {
    Node* made =
        graph.add_node(op(name), graph.unique_name(node->name()), std::move(inputs), std::move(attrs), 1, node);
    made->add_provenance(*node);
    WOOTZ_RETURN_IF_ERROR(infer_node(*made));
    return made->output();
  };
  AttrMap attrs = node->attrs();
  attrs["x_scale"] = std::vector<double>{1};
  attrs["x_zero"] = std::vector<double>{p->x_zero};
  attrs["w_scale"] = std::vector<double>{1};
  if (p->w_zero != 0) attrs["w_zero"] = std::vector<double>{p->w_zero};
  Value* weights = graph.add_constant(graph.unique_name(node->input(1)->name()), p->weights);
  WOOTZ_ASSIGN_OR_RETURN(Value * y, emit(p->conv ? "Conv" : "MatMul", {node->input(0), weights}, std::move(attrs)));
  if (p->x_zero_now != nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(HostTensor sums, weight_sums(*p, y->rank()));
    Value* known = graph.add_constant(graph.unique_name(node->name() + "_sums"), std::move(sums));
    WOOTZ_ASSIGN_OR_RETURN(Value * zero, emit("Cast", {p->x_zero_now}, {{"to", std::string("f32")}}));
    WOOTZ_ASSIGN_OR_RETURN(Value * shift, emit("Mul", {zero, known}, {}));
    WOOTZ_ASSIGN_OR_RETURN(y, emit("Sub", {y, shift}, {}));
  }
  Value* old = to_float ? reader->output() : node->output();
  if (!to_float) {
    WOOTZ_ASSIGN_OR_RETURN(y, emit("Cast", {y}, {{"to", std::string("i32")}}));
  } else {
    y->producer()->add_provenance(*reader);
  }
  take_place(graph, old, y);
  return true;
}

}  // namespace

Result<bool> fuse_integer_products(Graph& graph) {
  bool changed = false;
  std::vector<Node*> products;  // what goes with one of them is a Cast
  for (Node* node = graph.first(); node != nullptr; node = node->next())
    if (node->is("ConvInteger") || node->is("MatMulInteger")) products.push_back(node);
  for (Node* node : products) {
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, fuse(graph, node));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
