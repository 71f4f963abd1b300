#include "quant/insert_qdq.h"

#include <algorithm>
#include <map>

#include "ir/op_def.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/quantization/qdq.h"
#include "passes/support/places.h"
#include "passes/support/rewrite.h"
#include "quant/quantize_weights.h"

namespace wootz {
namespace {

bool is_activation(const Value* value) {
  return value != nullptr && !value->is_constant() && value->dtype() == DType::kF32 && !value->shape_values();
}

// Its padding is only known with extents that the 8-bit form would have to know.
bool pads_by_extents(const Node& node) {
  const Shape& shape = node.input(0)->shape();
  return node.has_attr("auto_pad") &&
         std::any_of(shape.begin() + 2, shape.end(), [](const Dim& d) { return !d.is_const(); });
}

// What gives elements of its first input and nothing else, so that the input's range holds.
bool only_moves(const Node& node) {
  constexpr std::string_view kMoving[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Identity"};
  return std::find(std::begin(kMoving), std::end(kMoving), node.op_name()) != std::end(kMoving) ||
         (node.is("Pool") && node.attr_string("kind") == "max");
}

class Inserter {
 public:
  Inserter(Graph& graph, const TensorScales& scales, const std::function<bool(const Node&)>& stays_float)
      : graph_(graph), scales_(scales), stays_float_(stays_float), weights_(graph) {}

  Result<InsertedQdq> run() {
    for (Node* node : graph_.nodes()) WOOTZ_RETURN_IF_ERROR(product(node));
    const Places places = places_of(graph_);
    for (Node* node : graph_.nodes())
      if (node->is("Add") && node->num_inputs() == 2 && !stays_float_(*node))
        WOOTZ_RETURN_IF_ERROR(addition(node, places));
    return std::move(result_);
  }

 private:
  Status product(Node* node) {
    if (!is_product(*node) || node->num_outputs() != 1 || stays_float_(*node)) return Status();
    if (!is_activation(node->input(0)) || node->input(0)->rank() < 2 || pads_by_extents(*node)) return Status();
    if (const Value* bias = node->input(2); bias != nullptr && bias->dtype() != DType::kF32) return Status();
    WOOTZ_ASSIGN_OR_RETURN(const bool quantizable, weights_.quantizable(*node));
    if (!quantizable) return Status();
    WOOTZ_ASSIGN_OR_RETURN(Value * rounded, quantized(node->input(0)));
    if (rounded == nullptr) return Status();
    WOOTZ_RETURN_IF_ERROR(weights_.quantize(node));
    node->set_input(0, rounded);
    result_.products.insert(node);
    return Status();
  }

  // The operand that is not the product's own result would be read in float, in the product's epilogue.
  Status addition(Node* node, const Places& places) {
    Value *a = node->input(0), *b = node->input(1);
    if (!is_activation(a) || !is_activation(b) || a == b || shape_to_string(a->shape()) != shape_to_string(b->shape()))
      return Status();
    const Node *of_a = product_behind(a), *of_b = product_behind(b);
    if (of_a == nullptr && of_b == nullptr) return Status();
    // The later one takes the addition in.
    const bool second = of_a == nullptr || (of_b != nullptr && places.at(of_b) > places.at(of_a));
    const int index = second ? 0 : 1;
    Value* const other = node->input(index);
    const bool in_8_bits = made_.count(other) != 0 || (second ? of_a : of_b) != nullptr;
    if (!in_8_bits) return Status();
    WOOTZ_ASSIGN_OR_RETURN(Value * rounded, quantized(other));
    if (rounded != nullptr) node->set_input(index, rounded);
    return Status();
  }

  // The quantized product whose epilogue computes the value; null: none.
  const Node* product_behind(const Value* value) const {
    constexpr int kMost = 8;
    for (int steps = 0; steps < kMost; ++steps) {
      const Node* const node = value->producer();
      if (node == nullptr || only_user(value) == nullptr) return nullptr;
      if (result_.products.count(node) != 0) return node;
      if (node->op().lowering != Lowering::kPointwise && !node->is("BatchNorm")) return nullptr;
      const Value* only = nullptr;
      for (const Value* in : node->inputs()) {
        if (in == nullptr || in->is_constant()) continue;
        if (only != nullptr) return nullptr;
        only = in;
      }
      if (only == nullptr) return nullptr;
      value = only;
    }
    return nullptr;
  }

  // The value's own scale, or that of what it has its elements from.
  const float* scale_of(const Value* value) const {
    for (const Value* v = value; v != nullptr;) {
      if (const auto found = scales_.find(v->name()); found != scales_.end()) return &found->second;
      for (const std::string& name : v->aliases())
        if (const auto found = scales_.find(name); found != scales_.end()) return &found->second;
      const Node* const node = v->producer();
      v = node != nullptr && only_moves(*node) ? node->input(0) : nullptr;
    }
    return nullptr;
  }

  // Rounded to i8 and back. Null: it has no scale.
  Result<Value*> quantized(Value* value) {
    if (const auto found = made_.find(value); found != made_.end()) return found->second;
    const float* const scale = scale_of(value);
    if (scale == nullptr) {
      std::vector<std::string>& names = result_.unscaled;
      if (std::find(names.begin(), names.end(), value->name()) == names.end()) names.push_back(value->name());
      return nullptr;
    }
    Node* const before = value->producer() == nullptr ? graph_.first() : value->producer()->next();
    Value* const step =
        graph_.add_constant(graph_.unique_name(value->name() + "_scale"), HostTensor::scalar<float>(*scale));
    Node* const there = graph_.add_node(*find_op("Quantize"), graph_.unique_name(value->name() + "_quantize"),
                                        {value, step}, {{"to", std::string(dtype_name(DType::kI8))}}, 1, before);
    WOOTZ_RETURN_IF_ERROR(infer_node(*there));
    Node* const back = graph_.add_node(*find_op("Dequantize"), graph_.unique_name(value->name() + "_dequantize"),
                                       {there->output(), step}, {}, 1, before);
    WOOTZ_RETURN_IF_ERROR(infer_node(*back));
    return made_[value] = back->output();
  }

  Graph& graph_;
  const TensorScales& scales_;
  const std::function<bool(const Node&)>& stays_float_;
  WeightQuantizer weights_;
  std::map<const Value*, Value*> made_;
  InsertedQdq result_;
};

}  // namespace

bool is_product(const Node& node) { return node.is("Conv") || node.is("ConvTranspose") || node.is("MatMul"); }

std::vector<Value*> values_to_observe(const Graph& graph) {
  std::vector<Value*> values;
  for (Value* input : graph.inputs())
    if (is_activation(input)) values.push_back(input);
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    for (Value* value : node->outputs())
      if (is_activation(value)) values.push_back(value);
  return values;
}

bool has_quantization(const Graph& graph) {
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    if (is_qdq(*node)) return true;
  return false;
}

Result<InsertedQdq> insert_qdq(Graph& graph, const TensorScales& scales,
                               const std::function<bool(const Node&)>& stays_float) {
  return Inserter(graph, scales, stays_float).run();
}

}  // namespace wootz
