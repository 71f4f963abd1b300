// Activations as exporters spell them out, in any order of factors and either side of a constant, become the one
// operation that kernels and libraries know.
#include <algorithm>
#include <cmath>

#include "passes/support/expr_builder.h"

namespace wootz {
namespace {

bool close(double a, double b) { return std::fabs(a - b) <= 1e-4 * std::fabs(b); }

const double kRootHalf = std::sqrt(0.5), kRootTwoOverPi = std::sqrt(2 / M_PI);
constexpr double kGeluCubic = 0.044715;

}  // namespace

ExprBuilder::Found ExprBuilder::erf_gate(Id v) const {
  const auto e = plus(v, 1);
  if (!e || !is(*e, PwOp::kErf)) return std::nullopt;
  return scaled_by(at(*e).a, kRootHalf);
}

ExprBuilder::Found ExprBuilder::tanh_gate(Id v) const {
  const auto t = plus(v, 1);
  if (!t || !is(*t, PwOp::kTanh)) return std::nullopt;
  const auto power = [&](Id value, Id x, size_t n, double factor) {
    const Product p = product(value, x);
    return close(p.constant, factor) && p.factors == std::vector<Id>(n, x);
  };
  const Id argument = at(*t).a;
  // a * x + a * 0.044715 * x^3
  if (is(argument, PwOp::kAdd)) {
    for (const auto& [linear, cubic] :
         {std::pair(at(argument).a, at(argument).b), std::pair(at(argument).b, at(argument).a)})
      if (const auto x = scaled_by(linear, kRootTwoOverPi))
        if (power(cubic, *x, 3, kRootTwoOverPi * kGeluCubic)) return x;
  }
  for (const Id f : product(argument, std::nullopt).factors) {
    if (!is(f, PwOp::kAdd)) continue;
    // a * (x + 0.044715 * x^3)
    const Product outer = product(argument, f);
    if (close(outer.constant, kRootTwoOverPi) && outer.factors == std::vector<Id>{f})
      for (const auto& [x, cubic] : {std::pair(at(f).a, at(f).b), std::pair(at(f).b, at(f).a)})
        if (power(cubic, x, 3, kGeluCubic)) return x;
    // a * x * (1 + 0.044715 * x^2)
    const auto square = plus(f, 1);
    if (!square) continue;
    for (const Id x : product(*square, std::nullopt).factors) {
      if (!power(*square, x, 2, kGeluCubic)) continue;
      Product whole = product(argument, x);
      std::erase(whole.factors, f);
      if (close(whole.constant, kRootTwoOverPi) && whole.factors == std::vector<Id>{x}) return x;
    }
  }
  return std::nullopt;
}

// 0.5 * x * gate(x), however the three are associated.
ExprBuilder::Found ExprBuilder::gelu_rule(const PwInstr& in) {
  if (in.op == PwOp::kDiv && !constant(in.b)) return std::nullopt;
  std::vector<Id> operands{in.a};
  if (in.op == PwOp::kMul) operands.push_back(in.b);
  const auto whole = [&](Found stop) {
    Product p;
    if (in.op == PwOp::kDiv) p.constant = 1 / *constant(in.b);
    for (const Id v : operands) {
      const Product part = product(v, stop);
      p.constant *= part.constant;
      p.factors.insert(p.factors.end(), part.factors.begin(), part.factors.end());
    }
    return p;
  };
  for (const Id gate : whole(std::nullopt).factors) {
    for (const bool tanh : {false, true}) {
      const Found x = tanh ? tanh_gate(gate) : erf_gate(gate);
      if (!x) continue;
      Product p = whole(x);
      std::erase(p.factors, gate);
      if (close(p.constant, 0.5) && p.factors == std::vector<Id>{*x})
        return make(tanh ? PwOp::kGeluTanh : PwOp::kGeluErf, in.type, *x);
    }
  }
  return std::nullopt;
}

// a * b where b gates a.
ExprBuilder::Found ExprBuilder::gated(Id a, Id b, DType type) {
  if (is(b, PwOp::kSigmoid)) {
    if (at(b).a == a) return make(PwOp::kSilu, type, a, 1);
    const PwInstr& inner = at(at(b).a);
    if (inner.op == PwOp::kMul) {
      if (inner.a == a && constant(inner.b)) return make(PwOp::kSilu, type, a, *constant(inner.b));
      if (inner.b == a && constant(inner.a)) return make(PwOp::kSilu, type, a, *constant(inner.a));
    }
  }
  if (is(b, PwOp::kHardSigmoid) && at(b).a == a && close(at(b).imm0, 1.0 / 6) && close(at(b).imm1, 0.5))
    return make(PwOp::kHardSwish, type, a);
  if (is(b, PwOp::kTanh) && is(at(b).a, PwOp::kSoftplus) && at(at(b).a).a == a) return make(PwOp::kMish, type, a);
  return std::nullopt;
}

bool ExprBuilder::relu6_gate(Id v, Id x) const {
  if (!is(v, PwOp::kClip) || at(v).imm0 != 0 || at(v).imm1 != 6) return false;
  const auto inner = plus(at(v).a, 3);
  return inner && *inner == x;
}

// x * clip(x + 3, 0, 6) / 6.
ExprBuilder::Found ExprBuilder::hard_swish_rule(const PwInstr& in) {
  const bool div = in.op == PwOp::kDiv;
  for (const auto& [v, k] : {std::pair(in.a, in.b), std::pair(in.b, in.a)}) {
    if (div && v != in.a) continue;
    const auto c = constant(k);
    if (!c || !close(div ? 1 / *c : *c, 1.0 / 6)) continue;
    if (is(v, PwOp::kMul)) {
      if (relu6_gate(at(v).b, at(v).a)) return make(PwOp::kHardSwish, in.type, at(v).a);
      if (relu6_gate(at(v).a, at(v).b)) return make(PwOp::kHardSwish, in.type, at(v).b);
    }
  }
  // (x / 6) * clip(x + 3, 0, 6)
  if (div) return std::nullopt;
  for (const auto& [gate, k] : {std::pair(in.a, in.b), std::pair(in.b, in.a)})
    if (const auto x = scaled_by(k, 1.0 / 6); x && relu6_gate(gate, *x)) return make(PwOp::kHardSwish, in.type, *x);
  return std::nullopt;
}

// clip(x + 3, 0, 6) / 6, clip(a * x + b, 0, 1).
ExprBuilder::Found ExprBuilder::hard_sigmoid_rule(const PwInstr& in) {
  if (in.op == PwOp::kClip) {
    if (in.imm0 != 0 || in.imm1 != 1 || !is(in.a, PwOp::kAdd)) return std::nullopt;
    for (const auto& [scaled, shift] : {std::pair(at(in.a).a, at(in.a).b), std::pair(at(in.a).b, at(in.a).a)}) {
      if (!constant(shift) || (!is(scaled, PwOp::kMul) && !is(scaled, PwOp::kDiv))) continue;
      const bool div = is(scaled, PwOp::kDiv);
      const PwInstr inner = at(scaled);
      if (const auto c = constant(inner.b); c && (!div || *c != 0))
        return make(PwOp::kHardSigmoid, in.type, inner.a, div ? 1 / *c : *c, *constant(shift));
      if (const auto c = constant(inner.a); c && !div)
        return make(PwOp::kHardSigmoid, in.type, inner.b, *c, *constant(shift));
    }
    return std::nullopt;
  }
  for (const auto& [v, k] : {std::pair(in.a, in.b), std::pair(in.b, in.a)}) {
    if (in.op == PwOp::kDiv && v != in.a) continue;
    const auto c = constant(k);
    if (!c || !close(in.op == PwOp::kDiv ? 1 / *c : *c, 1.0 / 6)) continue;
    if (!is(v, PwOp::kClip) || at(v).imm0 != 0 || at(v).imm1 != 6) continue;
    if (const auto x = plus(at(v).a, 3)) return make(PwOp::kHardSigmoid, in.type, *x, 1.0 / 6, 0.5);
  }
  return std::nullopt;
}

// 1 / (1 + exp(-x)), x / (1 + exp(-x)).
ExprBuilder::Found ExprBuilder::sigmoid_rule(const PwInstr& in) {
  const auto e = plus(in.op == PwOp::kReciprocal ? in.a : in.b, 1);
  if (!e || !is(*e, PwOp::kExp)) return std::nullopt;
  const PwInstr& argument = at(at(*e).a);
  Found x;
  if (argument.op == PwOp::kNeg) x = argument.a;
  if (!x) x = scaled_by(at(*e).a, -1);
  if (!x) return std::nullopt;
  if (in.op == PwOp::kReciprocal || (constant(in.a) && *constant(in.a) == 1)) return make(PwOp::kSigmoid, in.type, *x);
  if (in.a == *x) return make(PwOp::kSilu, in.type, *x, 1);
  return std::nullopt;
}

// max(x, a * x), x > 0 ? x : a * x, relu(x) - a * relu(-x), prelu with one number.
ExprBuilder::Found ExprBuilder::leaky_rule(const PwInstr& in) {
  const auto slope = [&](Id v, Id x) -> std::optional<double> {
    Id other = 0;
    if (either(v, PwOp::kMul, x, &other)) return constant(other);
    return std::nullopt;
  };
  if (in.op == PwOp::kPRelu) {
    if (const auto a = constant(in.b)) return make(PwOp::kLeakyRelu, in.type, in.a, *a);
  } else if (in.op == PwOp::kMax) {
    for (const auto& [x, v] : {std::pair(in.a, in.b), std::pair(in.b, in.a)})
      if (const auto a = slope(v, x); a && *a > 0 && *a <= 1) return make(PwOp::kLeakyRelu, in.type, x, *a);
  } else if (in.op == PwOp::kSelect) {
    const PwInstr& test = at(in.a);
    const bool over = test.op == PwOp::kGreater || test.op == PwOp::kGreaterEqual;
    const bool under = test.op == PwOp::kLess || test.op == PwOp::kLessEqual;
    if ((!over && !under) || !constant(test.b) || *constant(test.b) != 0) return std::nullopt;
    const Id x = over ? in.b : in.c, other = over ? in.c : in.b;
    if (test.a != x) return std::nullopt;
    if (const auto a = slope(other, x)) return make(PwOp::kLeakyRelu, in.type, x, *a);
  } else {
    for (const auto& [kept, scaled] : {std::pair(in.a, in.b), std::pair(in.b, in.a)}) {
      if ((in.op == PwOp::kSub && kept != in.a) || !is(kept, PwOp::kRelu) || !is(scaled, PwOp::kMul)) continue;
      const Id x = at(kept).a;
      for (const auto& [k, r] : {std::pair(at(scaled).a, at(scaled).b), std::pair(at(scaled).b, at(scaled).a)}) {
        if (!constant(k) || !is(r, PwOp::kRelu) || !is(at(r).a, PwOp::kNeg) || at(at(r).a).a != x) continue;
        return make(PwOp::kLeakyRelu, in.type, x, in.op == PwOp::kSub ? *constant(k) : -*constant(k));
      }
    }
  }
  return std::nullopt;
}

ExprBuilder::Found ExprBuilder::activation_rule(const PwInstr& in) {
  Found found;
  switch (in.op) {
    case PwOp::kMul:
      found = gated(in.a, in.b, in.type);
      if (!found) found = gated(in.b, in.a, in.type);
      if (!found) found = gelu_rule(in);
      if (!found) found = hard_swish_rule(in);
      if (!found) found = hard_sigmoid_rule(in);
      break;
    case PwOp::kDiv:
      found = gelu_rule(in);
      if (!found) found = hard_swish_rule(in);
      if (!found) found = hard_sigmoid_rule(in);
      if (!found) found = sigmoid_rule(in);
      break;
    case PwOp::kReciprocal: found = sigmoid_rule(in); break;
    case PwOp::kClip: found = hard_sigmoid_rule(in); break;
    case PwOp::kLog:
      if (const auto e = plus(in.a, 1); e && is(*e, PwOp::kExp)) found = make(PwOp::kSoftplus, in.type, at(*e).a);
      break;
    case PwOp::kAdd:
    case PwOp::kSub:
    case PwOp::kMax:
    case PwOp::kPRelu:
    case PwOp::kSelect: found = leaky_rule(in); break;
    default: break;
  }
  return found;
}

}  // namespace wootz
