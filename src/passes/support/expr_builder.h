// Rebuilds a pointwise expression instruction by instruction; every new instruction goes through the rules.
// simplify_expr.cpp: construction and algebra; simplify_activations.cpp: activations that are spelled out.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "base/pointwise.h"

namespace wootz {

class ExprBuilder {
 public:
  explicit ExprBuilder(const PointwiseExpr& from);
  PointwiseExpr finish() const;  // without what no output needs

 private:
  using Id = uint16_t;
  using Found = std::optional<Id>;

  // A value as constant * (product of factors).
  struct Product {
    double constant = 1;
    std::vector<Id> factors;
  };

  const PwInstr& at(Id v) const { return out_.code[v]; }
  bool is(Id v, PwOp op) const { return at(v).op == op; }
  std::optional<double> constant(Id v) const {
    return is(v, PwOp::kConst) ? std::optional<double>(at(v).imm0) : std::nullopt;
  }
  bool near(Id v, double value) const;
  bool either(Id v, PwOp op, Id operand, Id* other) const;  // v = op(operand, other) or op(other, operand)

  Id add(const PwInstr& in);  // by the rules
  Id raw(const PwInstr& in);  // as it is; equal instructions are one
  Id make(PwOp op, DType type, Id a, double imm0 = 0, double imm1 = 0) { return add({op, type, a, 0, 0, imm0, imm1}); }

  // Algebra.
  Found neutral_rule(const PwInstr& in);
  Found pow_rule(const PwInstr& in);
  Found clip_rule(const PwInstr& in);
  Found cast_rule(const PwInstr& in);
  Found quantize_rule(const PwInstr& in);
  Found on_grid(Id v, const PwInstr& quantize) const;  // v = dequantized q, q of the same grid: q
  std::optional<double> known(Id v) const;             // a constant, perhaps after casts
  Found scaled_by(Id v, double k) const;               // v = x * k: x
  Found plus(Id v, double k) const;                    // v = x + k: x
  Product product(Id v, Found stop) const;

  // Activations. A gate is a function of x that multiplies x.
  Found activation_rule(const PwInstr& in);
  Found gated(Id a, Id b, DType type);
  Found gelu_rule(const PwInstr& in);
  Found erf_gate(Id v) const;   // v = 1 + erf(x / sqrt 2)
  Found tanh_gate(Id v) const;  // v = 1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))
  Found sigmoid_rule(const PwInstr& in);
  Found hard_sigmoid_rule(const PwInstr& in);
  Found hard_swish_rule(const PwInstr& in);
  Found leaky_rule(const PwInstr& in);
  bool relu6_gate(Id v, Id x) const;  // v = clip(x + 3, 0, 6)

  PointwiseExpr out_;
  std::map<std::tuple<PwOp, DType, Id, Id, Id, double, double>, Id> seen_;
};

}  // namespace wootz
