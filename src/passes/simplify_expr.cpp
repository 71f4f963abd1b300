#include "passes/simplify_expr.h"

#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace wootz {
namespace {

// Rebuilds the expression instruction by instruction; every new instruction goes through the rules.
class Builder {
 public:
  explicit Builder(const PointwiseExpr& from) {
    out_.num_inputs = from.num_inputs;
    std::vector<uint16_t> map;
    for (const PwInstr& old : from.code) {
      PwInstr in = old;
      if (in.op != PwOp::kInput && in.op != PwOp::kConst) {
        const int arity = pw_op_arity(in.op);
        if (arity > 0) in.a = map[in.a];
        if (arity > 1) in.b = map[in.b];
        if (arity > 2) in.c = map[in.c];
      }
      map.push_back(add(in));
    }
    for (uint16_t o : from.outputs) out_.outputs.push_back(map[o]);
  }

  // Drops what no output needs.
  PointwiseExpr finish() const {
    std::vector<uint8_t> needed(out_.code.size(), 0);
    for (uint16_t o : out_.outputs) needed[o] = 1;
    for (size_t i = out_.code.size(); i-- > 0;) {
      if (!needed[i] || out_.code[i].op == PwOp::kInput || out_.code[i].op == PwOp::kConst) continue;
      const int arity = pw_op_arity(out_.code[i].op);
      if (arity > 0) needed[out_.code[i].a] = 1;
      if (arity > 1) needed[out_.code[i].b] = 1;
      if (arity > 2) needed[out_.code[i].c] = 1;
    }
    PointwiseExpr result;
    result.num_inputs = out_.num_inputs;
    std::vector<uint16_t> map(out_.code.size(), 0);
    for (size_t i = 0; i < out_.code.size(); ++i) {
      if (!needed[i]) continue;
      PwInstr in = out_.code[i];
      if (in.op != PwOp::kInput && in.op != PwOp::kConst) {
        const int arity = pw_op_arity(in.op);
        if (arity > 0) in.a = map[in.a];
        if (arity > 1) in.b = map[in.b];
        if (arity > 2) in.c = map[in.c];
      }
      map[i] = static_cast<uint16_t>(result.code.size());
      result.code.push_back(in);
    }
    for (uint16_t o : out_.outputs) result.outputs.push_back(map[o]);
    return result;
  }

 private:
  const PwInstr& at(uint16_t v) const { return out_.code[v]; }
  bool is(uint16_t v, PwOp op) const { return at(v).op == op; }
  std::optional<double> constant(uint16_t v) const {
    return is(v, PwOp::kConst) ? std::optional<double>(at(v).imm0) : std::nullopt;
  }
  // Constants in models are rounded to float somewhere.
  bool near(uint16_t v, double value) const {
    const auto c = constant(v);
    return c && std::fabs(*c - value) <= 1e-4 * std::fabs(value);
  }

  uint16_t raw(const PwInstr& in) {
    const auto key = std::make_tuple(in.op, in.type, in.a, in.b, in.c, in.imm0, in.imm1);
    if (!std::isnan(in.imm0) && !std::isnan(in.imm1)) {
      if (const auto it = seen_.find(key); it != seen_.end()) return it->second;
    }
    out_.code.push_back(in);
    const auto v = static_cast<uint16_t>(out_.code.size() - 1);
    seen_[key] = v;
    return v;
  }
  uint16_t make(PwOp op, DType type, uint16_t a, double imm0 = 0, double imm1 = 0) {
    return add({op, type, a, 0, 0, imm0, imm1});
  }

  // v = x * k or k * x or x / (1/k): gives x.
  std::optional<uint16_t> scaled_by(uint16_t v, double k) const {
    if (is(v, PwOp::kMul)) {
      if (near(at(v).b, k)) return at(v).a;
      if (near(at(v).a, k)) return at(v).b;
    }
    if (is(v, PwOp::kDiv) && near(at(v).b, 1 / k)) return at(v).a;
    return std::nullopt;
  }
  // v = x + k.
  std::optional<uint16_t> plus(uint16_t v, double k) const {
    if (!is(v, PwOp::kAdd)) return std::nullopt;
    if (near(at(v).b, k)) return at(v).a;
    if (near(at(v).a, k)) return at(v).b;
    return std::nullopt;
  }

  // g such that v = 1 + erf(x / sqrt 2).
  std::optional<uint16_t> gelu_erf_gate(uint16_t v) const {
    const auto e = plus(v, 1);
    if (!e || !is(*e, PwOp::kErf)) return std::nullopt;
    return scaled_by(at(*e).a, std::sqrt(0.5));
  }
  // v = 1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)).
  std::optional<uint16_t> gelu_tanh_gate(uint16_t v) const {
    const auto t = plus(v, 1);
    if (!t || !is(*t, PwOp::kTanh)) return std::nullopt;
    const auto sum = scaled_by(at(*t).a, std::sqrt(2 / M_PI));
    if (!sum || !is(*sum, PwOp::kAdd)) return std::nullopt;
    for (const auto& [x, cubic] : {std::pair(at(*sum).a, at(*sum).b), std::pair(at(*sum).b, at(*sum).a)}) {
      const auto cube = scaled_by(cubic, 0.044715);
      if (cube && is_cube(*cube, x)) return x;
    }
    return std::nullopt;
  }
  bool is_cube(uint16_t v, uint16_t x) const {
    if (is(v, PwOp::kPow)) return at(v).a == x && near(at(v).b, 3);
    if (!is(v, PwOp::kMul)) return false;
    const auto square = [&](uint16_t s) { return is(s, PwOp::kMul) && at(s).a == x && at(s).b == x; };
    return (at(v).a == x && square(at(v).b)) || (at(v).b == x && square(at(v).a));
  }

  // a * b where b gates a.
  std::optional<uint16_t> gated(uint16_t a, uint16_t b, DType type) {
    if (is(b, PwOp::kSigmoid)) {
      if (at(b).a == a) return make(PwOp::kSilu, type, a, 1);
      const PwInstr& inner = at(at(b).a);
      if (inner.op == PwOp::kMul) {
        if (inner.a == a && constant(inner.b)) return make(PwOp::kSilu, type, a, *constant(inner.b));
        if (inner.b == a && constant(inner.a)) return make(PwOp::kSilu, type, a, *constant(inner.a));
      }
    }
    if (is(b, PwOp::kHardSigmoid) && at(b).a == a && std::fabs(at(b).imm0 - 1.0 / 6) < 1e-4 && at(b).imm1 == 0.5)
      return make(PwOp::kHardSwish, type, a);
    if (is(b, PwOp::kTanh) && is(at(b).a, PwOp::kSoftplus) && at(at(b).a).a == a) return make(PwOp::kMish, type, a);
    // x * clip(x + 3, 0, 6) / 6 is assembled from the outside: see scale rule in mul_rule.
    // (0.5 x) * (1 + erf(x / sqrt 2)), and x * (0.5 * (1 + ...)).
    for (const bool tanh : {false, true}) {
      const PwOp whole = tanh ? PwOp::kGeluTanh : PwOp::kGeluErf;
      const auto gate = [&](uint16_t v) { return tanh ? gelu_tanh_gate(v) : gelu_erf_gate(v); };
      if (const auto half = scaled_by(a, 0.5)) {
        const auto x = gate(b);
        if (x && *x == *half) return make(whole, type, *x);
      }
      if (const auto inner = scaled_by(b, 0.5)) {
        const auto x = gate(*inner);
        if (x && *x == a) return make(whole, type, *x);
      }
    }
    return std::nullopt;
  }

  std::optional<uint16_t> mul_rule(const PwInstr& in) {
    if (const auto v = gated(in.a, in.b, in.type)) return v;
    if (const auto v = gated(in.b, in.a, in.type)) return v;
    // (x * (1 + erf(x / sqrt 2))) * 0.5
    for (const auto& [k, v] : {std::pair(in.a, in.b), std::pair(in.b, in.a)}) {
      if (!near(k, 0.5) || !is(v, PwOp::kMul)) continue;
      for (const auto& [x, g] : {std::pair(at(v).a, at(v).b), std::pair(at(v).b, at(v).a)}) {
        if (const auto e = gelu_erf_gate(g); e && *e == x) return make(PwOp::kGeluErf, in.type, x);
        if (const auto e = gelu_tanh_gate(g); e && *e == x) return make(PwOp::kGeluTanh, in.type, x);
      }
    }
    if (constant(in.b) && *constant(in.b) == 1) return in.a;
    if (constant(in.a) && *constant(in.a) == 1) return in.b;
    return hard_swish_rule(in);
  }

  // clip(x + 3, 0, 6) as a gate: x * clip(x + 3, 0, 6) / 6.
  bool relu6_gate(uint16_t v, uint16_t x) const {
    if (!is(v, PwOp::kClip) || at(v).imm0 != 0 || at(v).imm1 != 6) return false;
    const auto inner = plus(at(v).a, 3);
    return inner && *inner == x;
  }
  std::optional<uint16_t> hard_swish_rule(const PwInstr& in) {
    const bool div = in.op == PwOp::kDiv;
    for (const auto& [v, k] : {std::pair(in.a, in.b), std::pair(in.b, in.a)}) {
      if (div && v != in.a) continue;
      const auto c = constant(k);
      if (c && is(v, PwOp::kMul) && std::fabs((div ? 1 / *c : *c) - 1.0 / 6) < 1e-5) {
        if (relu6_gate(at(v).b, at(v).a)) return make(PwOp::kHardSwish, in.type, at(v).a);
        if (relu6_gate(at(v).a, at(v).b)) return make(PwOp::kHardSwish, in.type, at(v).b);
      }
      // x * (clip(x + 3, 0, 6) / 6)
      if (div) continue;
      const auto gate = scaled_by(k, 1.0 / 6);
      if (gate && relu6_gate(*gate, v)) return make(PwOp::kHardSwish, in.type, v);
    }
    return std::nullopt;
  }

  std::optional<uint16_t> clip_rule(const PwInstr& in) {
    // max(x, 0) -> relu; min(max(x, lo), hi) -> clip. Both sides NaN-propagating, as min and max are.
    const bool is_max = in.op == PwOp::kMax;
    const uint16_t x = constant(in.b) ? in.a : in.b;
    const auto c = constant(in.b) ? constant(in.b) : constant(in.a);
    if (!c || constant(x)) return std::nullopt;
    if (is_max && *c == 0) return make(PwOp::kRelu, in.type, x);
    const PwInstr inner = at(x);
    if (!is_max && inner.op == PwOp::kRelu && *c >= 0) return make(PwOp::kClip, in.type, inner.a, 0, *c);
    if (inner.op != (is_max ? PwOp::kMin : PwOp::kMax)) return std::nullopt;
    const auto other = constant(inner.b) ? constant(inner.b) : constant(inner.a);
    const uint16_t y = constant(inner.b) ? inner.a : inner.b;
    if (!other) return std::nullopt;
    const double low = is_max ? *c : *other, high = is_max ? *other : *c;
    if (low > high) return std::nullopt;
    return make(PwOp::kClip, in.type, y, low, high);
  }

  uint16_t add(const PwInstr& in) {
    if (!is_float(in.type)) return raw(in);
    std::optional<uint16_t> better;
    switch (in.op) {
      case PwOp::kMul: better = mul_rule(in); break;
      case PwOp::kDiv:
        if (constant(in.b) && *constant(in.b) == 1) return in.a;
        better = hard_swish_rule(in);
        // x / (1 + exp(-x))
        if (!better) {
          if (const auto e = plus(in.b, 1);
              e && is(*e, PwOp::kExp) && is(at(*e).a, PwOp::kNeg) && at(at(*e).a).a == in.a)
            better = make(PwOp::kSilu, in.type, in.a, 1);
        }
        break;
      case PwOp::kMax:
      case PwOp::kMin: better = clip_rule(in); break;
      case PwOp::kClip:
        if (in.imm0 == 0 && std::isinf(in.imm1) && in.imm1 > 0) better = make(PwOp::kRelu, in.type, in.a);
        break;
      case PwOp::kCast:
        if (at(in.a).type == in.type) return in.a;
        break;
      default: break;
    }
    return better ? *better : raw(in);
  }

  PointwiseExpr out_;
  std::map<std::tuple<PwOp, DType, uint16_t, uint16_t, uint16_t, double, double>, uint16_t> seen_;
};

}  // namespace

PointwiseExpr simplify_expression(const PointwiseExpr& expr) { return Builder(expr).finish(); }

}  // namespace wootz
