// Elementwise functions of one operand. Inference and reference follow from the expression.
#include <array>
#include <string_view>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

struct UnaryOp {
  const char* name;
  PwOp op;
  Accept accept = Accept::kFloat;
  bool gives_bool = false;
};

constexpr UnaryOp kUnaryOps[] = {
    {"Abs", PwOp::kAbs, Accept::kNumeric},
    {"Acos", PwOp::kAcos},
    {"Acosh", PwOp::kAcosh},
    {"Asin", PwOp::kAsin},
    {"Asinh", PwOp::kAsinh},
    {"Atan", PwOp::kAtan},
    {"Atanh", PwOp::kAtanh},
    {"BitwiseNot", PwOp::kNot, Accept::kInteger},
    {"Ceil", PwOp::kCeil},
    {"Cos", PwOp::kCos},
    {"Cosh", PwOp::kCosh},
    {"Erf", PwOp::kErf, Accept::kNumeric},
    {"Exp", PwOp::kExp},
    {"Floor", PwOp::kFloor},
    {"IsInf", PwOp::kIsInf, Accept::kFloat, true},
    {"IsNaN", PwOp::kIsNan, Accept::kFloat, true},
    {"Log", PwOp::kLog},
    {"Neg", PwOp::kNeg, Accept::kNumeric},
    {"Not", PwOp::kNot, Accept::kBool},
    {"Reciprocal", PwOp::kReciprocal},
    {"Round", PwOp::kRound},
    {"Sign", PwOp::kSign, Accept::kNumeric},
    {"Sin", PwOp::kSin},
    {"Sinh", PwOp::kSinh},
    {"Sqrt", PwOp::kSqrt},
    {"Tan", PwOp::kTan},
};

Result<PointwiseExpr> unary_expression(const Node& node) {
  for (const UnaryOp& entry : kUnaryOps) {
    if (std::string_view(entry.name) != node.op().name) continue;
    WOOTZ_RETURN_IF_ERROR(check_operand(node, 0, entry.accept));
    const DType type = node.input(0)->dtype();
    PointwiseExpr expr;
    expr.num_inputs = 1;
    uint16_t x = expr.input(0, type);
    const bool widen = entry.op == PwOp::kErf && !is_float(type);  // ONNX gives Erf integers too: through f64
    if (widen) x = expr.push(PwOp::kCast, DType::kF64, x);
    double imm0 = 0, imm1 = 0;
    if (entry.op == PwOp::kIsInf) {
      imm0 = node.attr_int("detect_negative", 1) != 0;
      imm1 = node.attr_int("detect_positive", 1) != 0;
    }
    uint16_t y = expr.push(entry.op, entry.gives_bool ? DType::kBool : expr.code[x].type, x, 0, 0, imm0, imm1);
    if (widen) y = expr.push(PwOp::kCast, type, y);
    expr.outputs = {y};
    return expr;
  }
  return at_node(node, internal_error("this is no unary op"));
}

}  // namespace

std::span<const OpDef* const> unary_ops() {
  static const std::vector<OpDef> kDefs = [] {
    std::vector<OpDef> defs;
    for (const UnaryOp& entry : kUnaryOps) {
      OpDef def{.name = entry.name,
                .attributes = {},
                .lowering = Lowering::kPointwise,
                .pointwise = unary_expression,
                .traits = {}};
      if (entry.op == PwOp::kIsInf)
        def.attributes = {{"detect_negative", AttrKind::kInt}, {"detect_positive", AttrKind::kInt}};
      defs.push_back(std::move(def));
    }
    return defs;
  }();
  static const std::vector<const OpDef*> kUnaryDefs = op_pointers(kDefs);
  return kUnaryDefs;
}

}  // namespace wootz::ops
