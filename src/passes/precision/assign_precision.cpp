#include "passes/precision/assign_precision.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

#include "base/expressions.h"
#include "base/fp8.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/precision/closing_steps.h"
#include "passes/precision/index_valued_floats.h"
#include "passes/precision/layer_types.h"
#include "passes/precision/residual_stream.h"
#include "passes/precision/round_weights.h"
#include "passes/quantization/qdq.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

double largest(DType type) { return type == DType::kF16 ? 65504 : 3.3895313892515355e38; }

bool holds(DType type, double value) { return !std::isfinite(value) || std::fabs(value) <= largest(type); }

bool expression_fits(const PointwiseExpr& expr, DType type) {
  return std::all_of(expr.code.begin(), expr.code.end(), [&](const PwInstr& in) {
    if (in.op == PwOp::kPow || in.op == PwOp::kExp || in.op == PwOp::kSinh || in.op == PwOp::kCosh) return false;
    return holds(type, in.imm0) && holds(type, in.imm1);
  });
}

bool touches_bytes(const PointwiseExpr& expr) {
  return std::any_of(expr.code.begin(), expr.code.end(),
                     [](const PwInstr& in) { return is_int8(in.type) || is_fp8(in.type); });
}

// The expression with operands widened to f32 where they are read; `narrow`: which operands are.
PointwiseExpr with_narrow_inputs(const PointwiseExpr& expr, const std::vector<uint8_t>& narrow, DType type) {
  PointwiseExpr made;
  made.num_inputs = expr.num_inputs;
  made.outputs = append_expression(&made, expr, [&](PwInstr load) {
    const bool widen = load.type == DType::kF32 && load.a < narrow.size() && narrow[load.a] != 0;
    if (widen) load.type = type;
    made.code.push_back(load);
    const auto value = static_cast<uint16_t>(made.code.size() - 1);
    return widen ? made.push(PwOp::kCast, DType::kF32, value) : value;
  });
  return made;
}

// The same with results rounded where they are stored. Scales and zero points in between stay what they are.
PointwiseExpr with_narrow_ends(const PointwiseExpr& expr, const std::vector<uint8_t>& narrow, DType type) {
  PointwiseExpr made = with_narrow_inputs(expr, narrow, type);
  for (uint16_t& value : made.outputs)
    if (made.code[value].type == DType::kF32) value = made.push(PwOp::kCast, type, value);
  return made;
}

bool constant_fits(const HostTensor& tensor, DType type) {
  const std::span<const float> values = tensor.as<float>();
  return std::all_of(values.begin(), values.end(), [&](float v) { return holds(type, v); });
}

// A rounded scale would be another one: of blocks of rows, which a product reads (op BlockMatMul).
bool is_scale_of_blocks(const Value& value) {
  return std::any_of(value.uses().begin(), value.uses().end(), [](const Use& use) {
    if (use.node->is("BlockMatMul")) return use.index == 1;
    return is_reshape(*use.node) && use.index == 0 && is_scale_of_blocks(*use.node->output());
  });
}

class Assigner {
 public:
  Assigner(Graph& graph, DType type, const KeptOrigins& kept)
      : graph_(graph), type_(type), kept_(kept), index_valued_(index_valued_floats(graph)) {
    if (type != DType::kBF16) return;
    stream_ = find_residual_stream(graph);
    closing_ = find_closing_steps(graph);
  }

  Result<int> run() {
    int changed = 0;
    for (Node* node : graph_.nodes()) {
      if (!eligible(*node)) continue;
      WOOTZ_ASSIGN_OR_RETURN(const bool done, convert(node));
      changed += done;
    }
    for (Node* node : casts_) erase_if_dead(graph_, node);
    for (Value* constant : graph_.constants())
      if (constant->uses().empty() && !graph_.is_output(constant)) graph_.erase_value(constant);
    return changed;
  }

 private:
  bool eligible(const Node& node) const {
    if (!has_trait(node.op().lowering, kNarrows) || is_kept(node)) return false;
    if (node.op().lowering == Lowering::kReduce) {
      const std::string kind = node.attr_string("kind");
      if (kind != "mean" && kind != "max" && kind != "min") return false;
    }
    if (node.is("Cast") || node.op().traits.data_dependent || node.op().traits.has_side_effects) return false;
    if (node.is("Quantize") || node.is("Dequantize") || stream_.kept.count(&node) != 0) return false;
    if (closing_.count(&node) != 0) return false;
    const int first = first_narrowed(node);
    bool floats = node.has_attr("x_scale") && node.output()->dtype() == DType::kF32;
    for (int i = first; i < node.num_inputs(); ++i) {
      const Value* in = node.input(i);
      if (in == nullptr || in->dtype() != DType::kF32) continue;
      floats = true;
      if (in->is_constant() && !constant_fits(in->constant(), type_)) return false;
    }
    for (const Value* out : node.outputs())
      if (out != nullptr && (out->dtype() == DType::kF64 || index_valued_.count(out) != 0 || is_scale_of_blocks(*out)))
        return false;
    if (!floats) return false;
    for (const char* name : {"epilogue", "expr"})
      if (const PointwiseExpr* expr = node.attr_expr(name); expr != nullptr && !expression_fits(*expr, type_))
        return false;
    // A pointwise node that was never fused has its expression in its op.
    if (node.op().lowering == Lowering::kPointwise && node.attr_expr("expr") == nullptr) {
      const bool plain = std::all_of(node.inputs().begin(), node.inputs().end(),
                                     [](const Value* v) { return v == nullptr || v->dtype() == DType::kF32; });
      return plain && !node.is("Pow") && !node.is("Exp");
    }
    return true;
  }

  bool is_kept(const Node& node) const {
    const std::vector<std::string>& from = node.provenance();
    return !kept_.empty() &&
           std::any_of(from.begin(), from.end(), [&](const std::string& name) { return kept_.count(name) != 0; });
  }

  static int main_inputs(const Node& node) { return static_cast<int>(node.attr_int("main_inputs", node.num_inputs())); }
  // What is computed from 8 bits stays in f32 up to its result: only what its epilogue reads and gives changes.
  static int first_narrowed(const Node& node) { return node.has_attr("x_scale") ? main_inputs(node) : 0; }

  // A rounded scale would be another one.
  static bool is_weight_scale(const Node& node, int input) {
    return node.is("WeightOnlyMatMul") && input > 0 && input < main_inputs(node);
  }

  // Where an expression has to do with 8 bits, a rounded scale would be another scale.
  void change_expression(Node* node, const char* name) const {
    const PointwiseExpr* expr = node->attr_expr(name);
    const bool epilogue = std::string_view(name) == "epilogue", quantized = node->has_attr("x_scale");
    PointwiseExpr alone;
    if (expr == nullptr && epilogue && quantized) {
      node->set_attr("main_inputs", int64_t{node->num_inputs()});
      alone.outputs = {alone.input(0, DType::kF32)};
      expr = &alone;
    }
    if (expr == nullptr) return;
    if (!quantized && !touches_bytes(*expr)) return relabel(node, name);
    const int main = epilogue ? main_inputs(*node) : 0;
    std::vector<uint8_t> narrow(expr->num_inputs, 0);
    for (uint16_t k = 0; k < expr->num_inputs; ++k) {
      const int input = epilogue ? main + k - 1 : k;
      const Value* value = epilogue && k == 0 ? nullptr : node->input(input);
      narrow[k] = value == nullptr ? !quantized : value->dtype() == type_;
    }
    node->set_attr(name, with_narrow_ends(*expr, narrow, type_));
  }

  // What an expression on 8 bits reads is rounded only where it is kept in 16 bits anyway; tables of scales never are.
  Value* narrowed(Node* node, int input, Value* value) {
    const bool epilogue = node->attr_expr("epilogue") != nullptr;
    const PointwiseExpr* expr = node->attr_expr(epilogue ? "epilogue" : "expr");
    if (node->op().lowering == Lowering::kAttention && input == kMask && !value->is_constant())
      return bounded(value, node);
    const bool free = node->has_attr("x_scale") || (expr != nullptr && touches_bytes(*expr));
    if (!free || input < (epilogue ? main_inputs(*node) : 0)) return narrow(value, node);
    const auto found = narrowed_.find(value);
    const bool kept = found != narrowed_.end() && value->producer() != nullptr && value->producer()->is("Cast");
    return kept ? found->second : value;
  }

  // Computed in f32 as before: an expression's narrow floats are rounded only where they are stored.
  void relabel(Node* node, const char* name) const {
    const PointwiseExpr* expr = node->attr_expr(name);
    if (expr == nullptr) return;
    PointwiseExpr changed = *expr;
    for (PwInstr& in : changed.code)
      if (in.type == DType::kF32) in.type = type_;
    node->set_attr(name, std::move(changed));
  }

  // A mask of an attention: what hides a key by the lowest float would become infinite, and a row without a key not a
  // number.
  Value* bounded(Value* mask, Node* before) {
    if (const auto found = narrowed_.find(mask); found != narrowed_.end()) return found->second;
    PointwiseExpr expr;  // what is infinite stays so
    const uint16_t x = expr.input(0, DType::kF32), infinite = expr.push(PwOp::kIsInf, DType::kBool, x, 0, 0, 1, 1);
    const uint16_t clipped = expr.push(PwOp::kClip, DType::kF32, x, 0, 0, -largest(type_), largest(type_));
    expr.outputs = {expr.push(PwOp::kCast, type_, expr.push(PwOp::kSelect, DType::kF32, infinite, x, clipped))};
    Node* node = graph_.add_node(*find_op("Pointwise"), graph_.unique_name(mask->name() + "_bounded"), {mask},
                                 {{"expr", expr}}, 1, before);
    if (!infer_node(*node).ok()) return mask;
    node->add_provenance(mask->name());
    return narrowed_[mask] = node->output();
  }

  Value* narrow(Value* value, Node* before) {
    if (const auto found = narrowed_.find(value); found != narrowed_.end()) return found->second;
    Value* made = nullptr;
    const Node* const producer = value->producer();
    if (producer != nullptr && producer->is("Cast") && producer->input(0)->dtype() == type_)
      return narrowed_[value] = producer->input(0);  // a layer that was asked for this type made it
    if (value->is_constant()) {
      Result<HostTensor> tensor = round_constant(*value, type_);
      if (!tensor.ok()) return value;
      made = graph_.add_constant(graph_.unique_name(value->name()), std::move(tensor).value());
    } else {
      Node* cast = graph_.add_node(*find_op("Cast"), graph_.unique_name(value->name() + "_cast"), {value},
                                   {{"to", std::string(dtype_name(type_))}}, 1, before);
      if (!infer_node(*cast).ok()) return value;
      cast->add_provenance(value->name());
      made = cast->output();
      casts_.push_back(cast);
    }
    return narrowed_[value] = made;
  }

  // What stays FP32 in a sum: rows of a table are widened as they are read, and a product's own bias, which would have
  // the type of what is multiplied, is added by the epilogue.
  void keep_sum(Node* node) const {
    if (node->op().lowering != Lowering::kGather) return add_bias_after(node);
    std::vector<uint8_t> narrow(node->attr_expr("epilogue")->num_inputs, 0);
    narrow[0] = 1;
    node->set_attr("epilogue", with_narrow_inputs(*node->attr_expr("epilogue"), narrow, type_));
  }

  static void add_bias_after(Node* node) {
    if (!node->is("MatMul") || main_inputs(*node) != 3 || node->input(2) == nullptr ||
        node->attr_expr("epilogue") == nullptr)
      return;
    const PointwiseExpr& expr = *node->attr_expr("epilogue");
    PointwiseExpr made;
    made.outputs = append_expression(&made, expr, [&](const PwInstr& load) {
      if (load.a != 0) return made.input(static_cast<uint16_t>(load.a + 1), load.type);
      return made.push(PwOp::kAdd, load.type, made.input(0, load.type), made.input(1, load.type));
    });
    node->set_attr("epilogue", std::move(made));
    node->set_attr("main_inputs", int64_t{2});
  }

  // False: the op's own type rule wants FP32; the node is as it was.
  Result<bool> convert(Node* node) {
    const std::vector<Value*> inputs = node->inputs();
    const AttrMap attrs = node->attrs();
    const bool wide = stream_.sums.count(node) != 0;  // only what is multiplied changes
    if (wide) keep_sum(node);
    for (int i = first_narrowed(*node), end = wide ? main_inputs(*node) : node->num_inputs(); i < end; ++i)
      if (Value* in = node->input(i); in != nullptr && in->dtype() == DType::kF32 && !is_weight_scale(*node, i))
        node->set_input(i, narrowed(node, i, in));
    if (!wide) {
      change_expression(node, "epilogue");
      change_expression(node, "expr");
    }
    std::vector<DType> before;
    for (const Value* out : node->outputs()) before.push_back(out == nullptr ? DType::kInvalid : out->dtype());
    if (!infer_node(*node).ok()) {
      for (int i = 0; i < node->num_inputs(); ++i) node->set_input(i, inputs[static_cast<size_t>(i)]);
      for (const char* name : {"epilogue", "main_inputs"})
        if (attrs.count(name) == 0) node->remove_attr(name);
      for (const auto& [name, value] : attrs) node->set_attr(name, value);
      WOOTZ_RETURN_IF_ERROR(infer_node(*node));
      return false;
    }
    for (int o = 0; o < node->num_outputs(); ++o) {
      Value* out = node->output(o);
      if (out == nullptr || before[static_cast<size_t>(o)] != DType::kF32 || out->dtype() != type_) continue;
      // Readers that stay in FP32 read through a cast; one whose readers all change is erased in the end.
      WOOTZ_ASSIGN_OR_RETURN(Node * cast, cast_after(graph_, out, DType::kF32));
      narrowed_[cast->output()] = out;
      casts_.push_back(cast);
    }
    return true;
  }

  static constexpr int kMask = 3;  // input of an attention

  Graph& graph_;
  DType type_;
  const KeptOrigins& kept_;
  std::unordered_set<const Value*> index_valued_;
  ResidualStream stream_;
  std::unordered_set<const Node*> closing_;  // of BF16: kept in FP32
  std::map<const Value*, Value*> narrowed_;
  std::vector<Node*> casts_;
};

}  // namespace

Result<int> assign_precision(Graph& graph, DType type, const KeptOrigins& kept) {
  if (type != DType::kF16 && type != DType::kBF16)
    return invalid_argument("values are kept in f16 or bf16, not in {}", dtype_name(type));
  return Assigner(graph, type, kept).run();
}

}  // namespace wootz
