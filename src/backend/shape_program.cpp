#include "backend/shape_program.h"

namespace wootz {

bool apply_shape_op(ShapeOp op, int64_t a, int64_t b, int64_t* out) {
  switch (op) {
    case ShapeOp::kAdd: return !__builtin_add_overflow(a, b, out);
    case ShapeOp::kMul: return !__builtin_mul_overflow(a, b, out);
    case ShapeOp::kMin: *out = a < b ? a : b; return true;
    case ShapeOp::kMax: *out = a > b ? a : b; return true;
    default: break;
  }
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  // From the quotient towards zero and its remainder: a rounded quotient times the divisor may overflow.
  const int64_t quotient = a / b;
  const int64_t rest = a % b;
  const bool below = rest != 0 && (a < 0) != (b < 0);
  switch (op) {
    case ShapeOp::kFloorDiv: *out = quotient - (below ? 1 : 0); return true;
    case ShapeOp::kCeilDiv: *out = quotient + (rest != 0 && !below ? 1 : 0); return true;
    case ShapeOp::kMod: *out = rest + (below ? b : 0); return true;
    default: return false;
  }
}

Result<bool> evaluate_shape(const IndexedVector<ExpressionIndex, ShapeExpr>& exprs, ExpressionIndex i,
                            std::span<const int64_t> symbol_values, ShapeValues* out) {
  const ShapeExpr& e = exprs[i];
  if (e.op == ShapeOp::kConst) {
    out->values[i] = e.value;
  } else if (e.op == ShapeOp::kSymbol) {
    const size_t s = e.symbol().position();
    if (s >= symbol_values.size() || symbol_values[s] < 0) return false;
    out->values[i] = symbol_values[s];
  } else {
    if (e.operands.empty()) return false;
    for (const ExpressionIndex operand : e.operands)
      if (!out->known[operand]) return false;
    int64_t value = out->values[e.operands[0]];
    for (size_t k = 1; k < e.operands.size(); ++k)
      if (!apply_shape_op(e.op, value, out->values[e.operands[k]], &value))
        return invalid_argument("shape expression {} overflows or divides by zero for the given input shapes", i);
    out->values[i] = value;
  }
  out->known[i] = 1;
  return true;
}

}  // namespace wootz
