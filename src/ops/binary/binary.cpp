// Elementwise functions of two operands with NumPy broadcasting.
#include <string_view>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

struct BinaryOp {
  const char* name;
  PwOp op;
  Accept accept;
  bool commutative = false;
  bool gives_bool = false;
};

constexpr BinaryOp kBinaryOps[] = {
    {"Add", PwOp::kAdd, Accept::kNumeric, true},
    {"And", PwOp::kAnd, Accept::kBool, true},
    {"BitShift", PwOp::kShiftLeft, Accept::kInteger},
    {"BitwiseAnd", PwOp::kAnd, Accept::kInteger, true},
    {"BitwiseOr", PwOp::kOr, Accept::kInteger, true},
    {"BitwiseXor", PwOp::kXor, Accept::kInteger, true},
    {"Div", PwOp::kDiv, Accept::kNumeric},
    {"Equal", PwOp::kEqual, Accept::kAny, true, true},
    {"Greater", PwOp::kGreater, Accept::kNumeric, false, true},
    {"GreaterOrEqual", PwOp::kGreaterEqual, Accept::kNumeric, false, true},
    {"Less", PwOp::kLess, Accept::kNumeric, false, true},
    {"LessOrEqual", PwOp::kLessEqual, Accept::kNumeric, false, true},
    {"Max", PwOp::kMax, Accept::kNumeric, true},
    {"Min", PwOp::kMin, Accept::kNumeric, true},
    {"Mod", PwOp::kMod, Accept::kNumeric},
    {"Mul", PwOp::kMul, Accept::kNumeric, true},
    {"Or", PwOp::kOr, Accept::kBool, true},
    {"PRelu", PwOp::kPRelu, Accept::kNumeric},
    {"Pow", PwOp::kPow, Accept::kNumeric},
    {"Sub", PwOp::kSub, Accept::kNumeric},
    {"Xor", PwOp::kXor, Accept::kBool, true},
};

PointwiseExpr two_operands(const Node& node) {
  PointwiseExpr expr;
  expr.num_inputs = 2;
  expr.input(0, node.input(0)->dtype());
  expr.input(1, node.input(1)->dtype());
  return expr;
}

// The exponent may have a type of its own; the result has the base's. With an integer base a float exponent is computed
// in f64, an integer one in the wider of both.
PointwiseExpr pow_expression(const Node& node) {
  PointwiseExpr expr = two_operands(node);
  const DType base = node.input(0)->dtype(), exponent = node.input(1)->dtype();
  DType type = base;
  if (!is_float(base) && is_float(exponent))
    type = DType::kF64;
  else if (!is_float(base) && base != exponent)
    type = DType::kI64;
  uint16_t a = 0, b = 1;
  if (base != type) a = expr.push(PwOp::kCast, type, a);
  if (exponent != type) b = expr.push(PwOp::kCast, type, b);
  uint16_t y = expr.push(PwOp::kPow, type, a, b);
  if (base != type) y = expr.push(PwOp::kCast, base, y);
  expr.outputs = {y};
  return expr;
}

// A shift by less than zero or by the width and more leaves only the fill: zero, or ones after a negative number
// shifted right. Hardware shifts differ there, so the expression decides.
Result<PointwiseExpr> shift_expression(const Node& node) {
  const std::string direction = node.attr_string("direction");
  if (direction != "LEFT" && direction != "RIGHT")
    return refuse(node, fmt::format("direction is '{}', it must be LEFT or RIGHT", direction));
  PointwiseExpr expr = two_operands(node);
  const DType type = node.input(0)->dtype();
  const bool is_signed = dtype_info(type).is_signed;
  const uint16_t zero = expr.constant(0, type), width = expr.constant(dtype_bits(type), type);
  uint16_t inside = expr.push(PwOp::kLess, DType::kBool, 1, width);
  if (is_signed) {
    const uint16_t from_zero = expr.push(PwOp::kGreaterEqual, DType::kBool, 1, zero);
    inside = expr.push(PwOp::kAnd, DType::kBool, inside, from_zero);
  }
  const uint16_t amount = expr.push(PwOp::kSelect, type, inside, 1, zero);
  uint16_t shifted, fill = zero;
  if (direction == "LEFT") {
    shifted = expr.push(PwOp::kShiftLeft, type, 0, amount);
  } else {
    shifted = expr.push(PwOp::kShiftRight, type, 0, amount);
    if (is_signed) {
      const uint16_t below = expr.push(PwOp::kLess, DType::kBool, 0, zero);
      fill = expr.push(PwOp::kSelect, type, below, expr.constant(-1, type), zero);
    }
  }
  expr.outputs = {expr.push(PwOp::kSelect, type, inside, shifted, fill)};
  return expr;
}

Result<PointwiseExpr> binary_expression(const Node& node) {
  for (const BinaryOp& entry : kBinaryOps) {
    if (std::string_view(entry.name) != node.op().name) continue;
    WOOTZ_RETURN_IF_ERROR(check_operand(node, 0, entry.accept));
    WOOTZ_RETURN_IF_ERROR(check_operand(node, 1, entry.accept));
    if (entry.op == PwOp::kPow) return pow_expression(node);
    const DType type = node.input(0)->dtype();
    if (node.input(1)->dtype() != type)
      return refuse(node, fmt::format("inputs are {} and {}, they must be of one type", dtype_name(type),
                                      dtype_name(node.input(1)->dtype())));
    if (entry.op == PwOp::kShiftLeft) return shift_expression(node);
    PwOp op = entry.op;
    if (op == PwOp::kMod && node.attr_int("fmod") != 0) op = PwOp::kFmod;
    PointwiseExpr expr = two_operands(node);
    expr.outputs = {expr.push(op, entry.gives_bool ? DType::kBool : type, 0, 1)};
    return expr;
  }
  return at_node(node, internal_error("this is no binary op"));
}

}  // namespace

std::span<const OpDef* const> binary_ops() {
  static const std::vector<OpDef> kDefs = [] {
    std::vector<OpDef> defs;
    for (const BinaryOp& entry : kBinaryOps) {
      OpDef def{.name = entry.name,
                .min_inputs = 2,
                .max_inputs = 2,
                .attributes = {},
                .lowering = Lowering::kPointwise,
                .pointwise = binary_expression,
                .traits = {.commutative = entry.commutative}};
      if (entry.op == PwOp::kMod) def.attributes.push_back({"fmod", AttrKind::kInt});
      if (entry.op == PwOp::kShiftLeft) def.attributes.push_back({"direction", AttrKind::kString, true});
      defs.push_back(std::move(def));
    }
    return defs;
  }();
  static const std::vector<const OpDef*> kBinaryDefs = op_pointers(kDefs);
  return kBinaryDefs;
}

}  // namespace wootz::ops
