// Values of i8 that are never negative become u8: the same bytes, and products of them by i8 are what processors
// multiply without a correction. Quantizing to u8 would let values up to 255 through, so a bound at 127 steps comes in
// front of it, as part of the ReLU that is there. Runs when nothing else changes any more, where each value's whole
// expression is in one place.
#include <algorithm>
#include <cmath>
#include <set>

#include "ops/infer.h"
#include "passes/pass.h"
#include "passes/support/simplify_expr.h"

namespace wootz {
namespace {

constexpr double kLargest = 127;

// Operations whose result is not negative, whatever they are given (NaN aside, which is quantized to 0).
constexpr PwOp kNeverNegative[] = {PwOp::kRelu,    PwOp::kAbs,      PwOp::kSqrt,       PwOp::kExp,
                                   PwOp::kSigmoid, PwOp::kSoftplus, PwOp::kHardSigmoid};

// The values of an expression that are never negative.
std::vector<bool> never_negative(const PointwiseExpr& expr) {
  std::vector<bool> known(expr.code.size(), false);
  for (size_t i = 0; i < expr.code.size(); ++i) {
    const PwInstr& in = expr.code[i];
    const bool a = pw_op_arity(in.op) > 0 && known[in.a], b = pw_op_arity(in.op) > 1 && known[in.b];
    switch (in.op) {
      case PwOp::kInput: known[i] = in.type == DType::kU8; break;
      case PwOp::kConst: known[i] = in.imm0 >= 0; break;
      case PwOp::kClip: known[i] = in.imm0 >= 0; break;
      case PwOp::kMax: known[i] = a || b; break;
      case PwOp::kMul: known[i] = (a && b) || in.a == in.b; break;
      case PwOp::kAdd:
      case PwOp::kMin:
      case PwOp::kDiv: known[i] = a && b; break;
      case PwOp::kCast: known[i] = a && is_float(in.type); break;
      default:
        known[i] = std::find(std::begin(kNeverNegative), std::end(kNeverNegative), in.op) != std::end(kNeverNegative);
    }
  }
  return known;
}

// Where a node keeps its expression. Null: it has none.
const char* expression_name(const Node& node) {
  return node.attr_expr("expr") != nullptr ? "expr" : node.attr_expr("epilogue") != nullptr ? "epilogue" : nullptr;
}

// Which of the expression's operands the node's input is; -1: it is none.
int operand_of(const Node& node, int input) {
  if (node.attr_expr("expr") != nullptr) return input;
  const auto main = static_cast<int>(node.attr_int("main_inputs", node.num_inputs()));
  return node.attr_expr("epilogue") != nullptr && input >= main ? 1 + input - main : -1;
}

// The quantization to i8 that ends the expression, if its zero point is 0 and it is given nothing below 0.
const PwInstr* quantizes_unsigned(const PointwiseExpr& expr) {
  if (expr.outputs.size() != 1) return nullptr;
  const PwInstr& last = expr.code[expr.outputs[0]];
  if (last.op != PwOp::kQuantize || last.type != DType::kI8) return nullptr;
  const PwInstr *scale = &expr.code[last.b], *zero = &expr.code[last.c];
  while (zero->op == PwOp::kCast) zero = &expr.code[zero->a];
  const bool constant = scale->op == PwOp::kConst && scale->imm0 > 0 && zero->op == PwOp::kConst && zero->imm0 == 0;
  return constant && std::isfinite(scale->imm0 * kLargest) && never_negative(expr)[last.a] ? &last : nullptr;
}

// Gives elements of its inputs and nothing else.
bool moves(const Node& node) {
  constexpr std::string_view kMoving[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Concat"};
  if (node.num_outputs() != 1 || expression_name(node) != nullptr) return false;
  if (std::find(std::begin(kMoving), std::end(kMoving), node.op_name()) != std::end(kMoving)) return true;
  return node.is("Pool") && node.attr_string("kind") == "max";
}

bool moved_input(const Node& node, int input) { return node.is("Concat") || input == 0; }

// Whether each load of the operand is only converted.
bool only_converts(const PointwiseExpr& expr, int operand) {
  for (size_t i = 0; i < expr.code.size(); ++i) {
    if (expr.code[i].op != PwOp::kInput || expr.code[i].a != operand) continue;
    if (std::find(expr.outputs.begin(), expr.outputs.end(), i) != expr.outputs.end()) return false;
    for (const PwInstr& reader : expr.code) {
      const uint16_t read[] = {reader.a, reader.b, reader.c};
      const bool reads = std::find(read, read + pw_op_arity(reader.op), i) != read + pw_op_arity(reader.op);
      if (reads && reader.op != PwOp::kCast) return false;
    }
  }
  return true;
}

using Values = std::set<const Value*>;

// Whether the reader takes u8 at this place as it takes i8. `values`: what becomes u8 as well.
bool takes_unsigned(const Use& use, const Values& values) {
  const Node& node = *use.node;
  if (const int operand = operand_of(node, use.index); operand >= 0)
    return only_converts(*node.attr_expr(expression_name(node)), operand);
  if (moves(node)) return moved_input(node, use.index) && values.count(node.output()) != 0;
  const bool product = node.is("Conv") || node.is("ConvTranspose") || node.is("MatMul");
  return (product || node.is("Pool")) && node.has_attr("x_scale") && use.index == 0;
}

bool comes_unsigned(const Node& node, const Values& values) {
  if (const char* name = expression_name(node)) return quantizes_unsigned(*node.attr_expr(name)) != nullptr;
  if (!moves(node)) return false;
  for (int i = 0; i < node.num_inputs(); ++i)
    if (moved_input(node, i) && values.count(node.input(i)) == 0) return false;
  return true;
}

// The largest set of values that can become u8 together.
Values unsigned_values(const Graph& graph) {
  Values values;
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    if (node->num_outputs() == 1 && node->output()->dtype() == DType::kI8 && !graph.is_output(node->output()))
      values.insert(node->output());
  for (size_t before = values.size() + 1; before != values.size();) {
    before = values.size();
    std::erase_if(values, [&](const Value* v) {
      return !comes_unsigned(*v->producer(), values) ||
             !std::all_of(v->uses().begin(), v->uses().end(),
                          [&](const Use& use) { return takes_unsigned(use, values); });
    });
  }
  return values;
}

// The same quantization to u8, of a value that is bounded as i8 would bound it.
PointwiseExpr quantized_unsigned(const PointwiseExpr& expr) {
  const PwInstr last = expr.code[expr.outputs[0]];
  const DType type = expr.code[last.a].type;
  PointwiseExpr made = expr;
  const uint16_t bounded = made.push(PwOp::kClip, type, last.a, 0, 0, 0, kLargest * expr.code[last.b].imm0);
  made.outputs = {made.push(PwOp::kQuantize, DType::kU8, bounded, last.b, made.constant(0, DType::kF32))};
  return simplify_expression(made);
}

void read_unsigned(PointwiseExpr* expr, int operand) {
  for (PwInstr& in : expr->code)
    if (in.op == PwOp::kInput && in.a == operand) in.type = DType::kU8;
}

Status change(Node* node, const Values& values) {
  if (const char* name = expression_name(*node)) {
    PointwiseExpr expr = *node->attr_expr(name);
    for (int i = 0; i < node->num_inputs(); ++i)
      if (const int operand = operand_of(*node, i); operand >= 0 && values.count(node->input(i)) != 0)
        read_unsigned(&expr, operand);
    if (values.count(node->output()) != 0) expr = quantized_unsigned(expr);
    node->set_attr(name, std::move(expr));
  }
  return infer_node(*node);
}

bool touches(const Node& node, const Values& values) {
  const auto among = [&](const Value* v) { return values.count(v) != 0; };
  return std::any_of(node.outputs().begin(), node.outputs().end(), among) ||
         std::any_of(node.inputs().begin(), node.inputs().end(), among);
}

}  // namespace

Result<bool> unsigned_bytes(Graph& graph) {
  const Values values = unsigned_values(graph);
  for (Node* node = graph.first(); node != nullptr && !values.empty(); node = node->next())
    if (touches(*node, values)) WOOTZ_RETURN_IF_ERROR(change(node, values));
  return !values.empty();
}

}  // namespace wootz
