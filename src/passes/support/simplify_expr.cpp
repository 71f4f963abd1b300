#include "passes/support/simplify_expr.h"

#include <algorithm>
#include <cmath>

#include "passes/support/expr_builder.h"

namespace wootz {
namespace {

constexpr size_t kMaxFactors = 8;

void renumber(PwInstr* in, const std::vector<uint16_t>& map) {
  if (in->op == PwOp::kInput || in->op == PwOp::kConst) return;
  const int arity = pw_op_arity(in->op);
  if (arity > 0) in->a = map[in->a];
  if (arity > 1) in->b = map[in->b];
  if (arity > 2) in->c = map[in->c];
}

// Every value of `from` is one of `to`.
bool widens(DType from, DType to) {
  if (from == DType::kF16 || from == DType::kBF16) return to == DType::kF32 || to == DType::kF64;
  return from == DType::kF32 && to == DType::kF64;
}

}  // namespace

ExprBuilder::ExprBuilder(const PointwiseExpr& from) {
  out_.num_inputs = from.num_inputs;
  std::vector<Id> map;
  for (PwInstr in : from.code) {
    renumber(&in, map);
    map.push_back(add(in));
  }
  for (Id o : from.outputs) out_.outputs.push_back(map[o]);
}

PointwiseExpr ExprBuilder::finish() const {
  std::vector<uint8_t> needed(out_.code.size(), 0);
  for (Id o : out_.outputs) needed[o] = 1;
  for (size_t i = out_.code.size(); i-- > 0;) {
    const PwInstr& in = out_.code[i];
    if (!needed[i] || in.op == PwOp::kInput || in.op == PwOp::kConst) continue;
    const int arity = pw_op_arity(in.op);
    if (arity > 0) needed[in.a] = 1;
    if (arity > 1) needed[in.b] = 1;
    if (arity > 2) needed[in.c] = 1;
  }
  PointwiseExpr result;
  result.num_inputs = out_.num_inputs;
  std::vector<Id> map(out_.code.size(), 0);
  for (size_t i = 0; i < out_.code.size(); ++i) {
    if (!needed[i]) continue;
    PwInstr in = out_.code[i];
    renumber(&in, map);
    map[i] = static_cast<Id>(result.code.size());
    result.code.push_back(in);
  }
  for (Id o : out_.outputs) result.outputs.push_back(map[o]);
  return result;
}

// Constants in models are rounded to float somewhere.
bool ExprBuilder::near(Id v, double value) const {
  const auto c = constant(v);
  return c && std::fabs(*c - value) <= 1e-4 * std::fabs(value);
}

bool ExprBuilder::either(Id v, PwOp op, Id operand, Id* other) const {
  if (!is(v, op) || (at(v).a != operand && at(v).b != operand)) return false;
  *other = at(v).a == operand ? at(v).b : at(v).a;
  return true;
}

ExprBuilder::Id ExprBuilder::raw(const PwInstr& in) {
  const auto key = std::make_tuple(in.op, in.type, in.a, in.b, in.c, in.imm0, in.imm1);
  const bool comparable = !std::isnan(in.imm0) && !std::isnan(in.imm1);
  if (comparable)
    if (const auto it = seen_.find(key);
        it != seen_.end() && std::signbit(at(it->second).imm0) == std::signbit(in.imm0))
      return it->second;
  out_.code.push_back(in);
  const auto v = static_cast<Id>(out_.code.size() - 1);
  if (comparable) seen_[key] = v;
  return v;
}

// v = x * k or k * x or x / (1/k): gives x.
ExprBuilder::Found ExprBuilder::scaled_by(Id v, double k) const {
  if (is(v, PwOp::kMul)) {
    if (near(at(v).b, k)) return at(v).a;
    if (near(at(v).a, k)) return at(v).b;
  }
  if (is(v, PwOp::kDiv) && near(at(v).b, 1 / k)) return at(v).a;
  return std::nullopt;
}

ExprBuilder::Found ExprBuilder::plus(Id v, double k) const {
  if (is(v, PwOp::kSub) && near(at(v).b, -k)) return at(v).a;
  if (!is(v, PwOp::kAdd)) return std::nullopt;
  if (near(at(v).b, k)) return at(v).a;
  if (near(at(v).a, k)) return at(v).b;
  return std::nullopt;
}

// Products in products and quotients by constants are taken apart, but not `stop`.
ExprBuilder::Product ExprBuilder::product(Id v, Found stop) const {
  Product p;
  std::vector<Id> open{v};
  while (!open.empty() && p.factors.size() <= kMaxFactors) {
    const Id id = open.back();
    open.pop_back();
    if (stop && id == *stop) {
      p.factors.push_back(id);
    } else if (const auto c = constant(id)) {
      p.constant *= *c;
    } else if (is(id, PwOp::kMul)) {
      open.push_back(at(id).a);
      open.push_back(at(id).b);
    } else if (is(id, PwOp::kDiv) && constant(at(id).b)) {
      p.constant /= *constant(at(id).b);
      open.push_back(at(id).a);
    } else {
      p.factors.push_back(id);
    }
  }
  return p;
}

// x + 0, x - 0, x * 1, x / 1.
ExprBuilder::Found ExprBuilder::neutral_rule(const PwInstr& in) {
  const auto is_number = [&](Id v, double number) { return constant(v) && *constant(v) == number; };
  const double number = in.op == PwOp::kAdd || in.op == PwOp::kSub ? 0 : 1;
  if (is_number(in.b, number)) return in.a;
  if ((in.op == PwOp::kAdd || in.op == PwOp::kMul) && is_number(in.a, number)) return in.b;
  return std::nullopt;
}

// Small whole powers are products, half a power is a root.
ExprBuilder::Found ExprBuilder::pow_rule(const PwInstr& in) {
  const auto exponent = constant(in.b);
  if (!exponent || at(in.a).type != in.type) return std::nullopt;
  if (*exponent == 1) return in.a;
  if (*exponent == 0.5) return make(PwOp::kSqrt, in.type, in.a);
  if (*exponent == -1) return make(PwOp::kReciprocal, in.type, in.a);
  if (*exponent != 2 && *exponent != 3) return std::nullopt;
  const Id square = add({PwOp::kMul, in.type, in.a, in.a});
  return *exponent == 2 ? square : add({PwOp::kMul, in.type, square, in.a});
}

// max(x, 0) -> relu; min(max(x, lo), hi) -> clip. Both sides propagate NaN, as min and max do.
ExprBuilder::Found ExprBuilder::clip_rule(const PwInstr& in) {
  const bool is_max = in.op == PwOp::kMax;
  const Id x = constant(in.b) ? in.a : in.b;
  const auto c = constant(in.b) ? constant(in.b) : constant(in.a);
  if (!c || constant(x)) return std::nullopt;
  const PwInstr inner = at(x);
  const bool bounded = inner.op == PwOp::kMin && (constant(inner.a) || constant(inner.b));
  if (is_max && *c == 0 && !bounded) return make(PwOp::kRelu, in.type, x);
  if (!is_max && inner.op == PwOp::kRelu && *c >= 0) return make(PwOp::kClip, in.type, inner.a, 0, *c);
  if (inner.op != (is_max ? PwOp::kMin : PwOp::kMax)) return std::nullopt;
  const auto other = constant(inner.b) ? constant(inner.b) : constant(inner.a);
  const Id y = constant(inner.b) ? inner.a : inner.b;
  if (!other) return std::nullopt;
  const double low = is_max ? *c : *other, high = is_max ? *other : *c;
  if (low > high) return std::nullopt;
  return make(PwOp::kClip, in.type, y, low, high);
}

ExprBuilder::Found ExprBuilder::cast_rule(const PwInstr& in) {
  const PwInstr& inner = at(in.a);
  if (inner.type == in.type) return in.a;
  // There and back without a loss. (The other way around the narrow type rounds, and that stays.)
  if (inner.op == PwOp::kCast && at(inner.a).type == in.type && widens(in.type, inner.type)) return inner.a;
  return std::nullopt;
}

std::optional<double> ExprBuilder::known(Id v) const {
  while (is(v, PwOp::kCast)) v = at(v).a;
  return constant(v);
}

ExprBuilder::Found ExprBuilder::on_grid(Id v, const PwInstr& quantize) const {
  const auto scale = known(quantize.b), zero = known(quantize.c);
  if (!scale || !zero) return std::nullopt;
  if (is(v, PwOp::kMul)) {
    const bool second = known(at(v).b).has_value();
    if (known(second ? at(v).b : at(v).a) != scale) return std::nullopt;
    v = second ? at(v).a : at(v).b;
  } else if (*scale != 1) {
    return std::nullopt;
  }
  if (is(v, PwOp::kSub) && known(at(v).b)) {
    if (known(at(v).b) != zero) return std::nullopt;
    v = at(v).a;
  } else if (*zero != 0) {
    return std::nullopt;
  }
  if (!is(v, PwOp::kCast)) return std::nullopt;
  const PwInstr& q = at(at(v).a);
  const bool same = q.op == PwOp::kQuantize && q.type == quantize.type && known(q.b) == scale && known(q.c) == zero;
  return same ? Found(at(v).a) : std::nullopt;
}

// What already lies on the grid stays as it is. Relu commutes with rounding to a grid, as 0 lies on it.
ExprBuilder::Found ExprBuilder::quantize_rule(const PwInstr& in) {
  if (const Found q = on_grid(in.a, in)) return q;
  const Found q = is(in.a, PwOp::kRelu) ? on_grid(at(in.a).a, in) : std::nullopt;
  if (!q) return std::nullopt;
  PwInstr once = in;
  once.a = make(PwOp::kRelu, at(in.a).type, at(*q).a);
  return add(once);
}

ExprBuilder::Id ExprBuilder::add(const PwInstr& in) {
  if (in.op == PwOp::kQuantize && is_integer(in.type))
    if (const Found better = quantize_rule(in)) return *better;
  if (!is_float(in.type)) return raw(in);
  Found better;
  switch (in.op) {
    case PwOp::kAdd:
    case PwOp::kSub:
    case PwOp::kMul:
    case PwOp::kDiv: better = neutral_rule(in); break;
    case PwOp::kPow: better = pow_rule(in); break;
    case PwOp::kMax:
    case PwOp::kMin: better = clip_rule(in); break;
    case PwOp::kCast: better = cast_rule(in); break;
    case PwOp::kNeg:
      if (is(in.a, PwOp::kNeg)) return at(in.a).a;
      break;
    case PwOp::kRelu:
      if (is(in.a, PwOp::kRelu)) return in.a;
      if (is(in.a, PwOp::kMin)) {
        const PwInstr inner = at(in.a);
        const Found bound = constant(inner.b) ? Found(inner.b) : constant(inner.a) ? Found(inner.a) : std::nullopt;
        if (bound && *constant(*bound) >= 0)
          return make(PwOp::kClip, in.type, *bound == inner.b ? inner.a : inner.b, 0, *constant(*bound));
      }
      if (is(in.a, PwOp::kClip) && at(in.a).imm1 >= 0)
        return make(PwOp::kClip, in.type, at(in.a).a, std::max(0.0, at(in.a).imm0), at(in.a).imm1);
      break;
    case PwOp::kClip:
      if (in.imm0 == 0 && std::isinf(in.imm1) && in.imm1 > 0) return make(PwOp::kRelu, in.type, in.a);
      if (is(in.a, PwOp::kRelu) && in.imm0 <= 0 && in.imm1 >= 0)
        return make(PwOp::kClip, in.type, at(in.a).a, 0, in.imm1);
      break;
    default: break;
  }
  if (!better) better = activation_rule(in);
  return better ? *better : raw(in);
}

PointwiseExpr simplify_expression(const PointwiseExpr& expr) { return ExprBuilder(expr).finish(); }

}  // namespace wootz
