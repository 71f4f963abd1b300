#include "backends/cpu/onednn/post_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wootz::cpu::dnn {
namespace {

using dnnl::algorithm;
using Kind = ChainOp::Kind;

// Operations of one operand that oneDNN has under the same meaning. How the immediates become alpha and beta:
enum class Imm : uint8_t { kNone, kAlpha, kAlphaBeta, kFixed };
struct EltwiseRow {
  PwOp op;
  algorithm alg;
  Imm imm;
  float alpha = 0, beta = 0;
};
constexpr EltwiseRow kEltwise[] = {
    {PwOp::kNeg, algorithm::eltwise_linear, Imm::kFixed, -1.f, 0.f},
    {PwOp::kAbs, algorithm::eltwise_abs, Imm::kNone},
    {PwOp::kSqrt, algorithm::eltwise_sqrt, Imm::kNone},
    {PwOp::kReciprocal, algorithm::eltwise_pow, Imm::kFixed, 1.f, -1.f},
    {PwOp::kExp, algorithm::eltwise_exp, Imm::kNone},
    {PwOp::kLog, algorithm::eltwise_log, Imm::kNone},
    {PwOp::kRound, algorithm::eltwise_round, Imm::kNone},
    {PwOp::kRelu, algorithm::eltwise_relu, Imm::kFixed, 0.f, 0.f},
    {PwOp::kLeakyRelu, algorithm::eltwise_relu, Imm::kAlpha},
    {PwOp::kClip, algorithm::eltwise_clip, Imm::kAlphaBeta},
    {PwOp::kSigmoid, algorithm::eltwise_logistic, Imm::kNone},
    {PwOp::kTanh, algorithm::eltwise_tanh, Imm::kNone},
    {PwOp::kGeluErf, algorithm::eltwise_gelu_erf, Imm::kNone},
    {PwOp::kGeluTanh, algorithm::eltwise_gelu_tanh, Imm::kNone},
    {PwOp::kSilu, algorithm::eltwise_swish, Imm::kAlpha},
    {PwOp::kHardSigmoid, algorithm::eltwise_hardsigmoid, Imm::kAlphaBeta},
    {PwOp::kHardSwish, algorithm::eltwise_hardswish, Imm::kFixed, 1.f / 6.f, 0.5f},
    {PwOp::kMish, algorithm::eltwise_mish, Imm::kNone},
    {PwOp::kSoftplus, algorithm::eltwise_soft_relu, Imm::kFixed, 1.f, 0.f},
    {PwOp::kElu, algorithm::eltwise_elu, Imm::kAlpha},
};

// What the second operand of a binary instruction comes to: scale * operand + shift, where a dequantized operand is
// such a form; operand -1: the constant `shift`.
struct Affine {
  bool valid = false;
  int operand = -1;
  double scale = 0, shift = 0;
};
std::vector<Affine> affine_values(const PointwiseExpr& expr) {
  std::vector<Affine> all(expr.code.size());
  for (size_t i = 0; i < expr.code.size(); ++i) {
    const PwInstr& instr = expr.code[i];
    Affine& out = all[i];
    if (instr.op == PwOp::kInput) {
      if (instr.a != 0) out = {true, instr.a, 1, 0};
      continue;
    }
    if (instr.op == PwOp::kConst) {
      out = {true, -1, 0, instr.imm0};
      continue;
    }
    if (!is_model_float(instr.type)) continue;
    const Affine& a = all[instr.a];
    if (instr.op == PwOp::kCast) out = a;
    if (pw_op_arity(instr.op) != 2 || !a.valid || !all[instr.b].valid) continue;
    const Affine& b = all[instr.b];
    const double sign = instr.op == PwOp::kSub ? -1 : 1;
    if (instr.op == PwOp::kAdd || instr.op == PwOp::kSub) {
      if (a.operand >= 0 && b.operand >= 0) continue;
      out = {true, std::max(a.operand, b.operand), a.scale + sign * b.scale, a.shift + sign * b.shift};
    } else if (instr.op == PwOp::kMul && b.operand < 0) {
      out = {true, a.operand, a.scale * b.shift, a.shift * b.shift};
    } else if (instr.op == PwOp::kMul && a.operand < 0) {
      out = {true, b.operand, b.scale * a.shift, b.shift * a.shift};
    } else if (instr.op == PwOp::kDiv && b.operand < 0) {
      out = {true, a.operand, a.scale / b.shift, a.shift / b.shift};
    }
  }
  return all;
}

ChainOp eltwise(algorithm alg, double alpha, double beta) {
  ChainOp op;
  op.algorithm = alg;
  op.alpha = static_cast<float>(alpha);
  op.beta = static_cast<float>(beta);
  return op;
}
ChainOp linear(double scale, double shift) { return eltwise(algorithm::eltwise_linear, scale, shift); }
ChainOp binary(algorithm alg, int operand) {
  ChainOp op;
  op.kind = Kind::kBinary;
  op.algorithm = alg;
  op.operand = static_cast<uint16_t>(operand);
  return op;
}

ChainOp scaled_add(int operand, double scale, double shift) {
  ChainOp op = binary(algorithm::binary_add, operand);
  op.kind = Kind::kAdd;
  op.alpha = static_cast<float>(scale);
  op.beta = static_cast<float>(shift);
  return op;
}

bool binary_with_constant(PwOp op, double c, bool chain_first, std::vector<ChainOp>* out) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (!std::isfinite(static_cast<float>(c))) return false;
  switch (op) {
    case PwOp::kAdd: out->push_back(linear(1, c)); return true;
    case PwOp::kSub: out->push_back(chain_first ? linear(1, -c) : linear(-1, c)); return true;
    case PwOp::kMul: out->push_back(linear(c, 0)); return true;
    case PwOp::kDiv:
      if (!chain_first)
        out->push_back(eltwise(algorithm::eltwise_pow, c, -1));
      else if (std::isfinite(static_cast<float>(1 / c)))
        out->push_back(linear(1 / c, 0));
      else
        return false;
      return true;
    case PwOp::kMin: out->push_back(eltwise(algorithm::eltwise_clip, -kInf, c)); return true;
    case PwOp::kMax:
      out->push_back(c == 0 ? eltwise(algorithm::eltwise_relu, 0, 0) : eltwise(algorithm::eltwise_clip, c, kInf));
      return true;
    case PwOp::kPow:
      if (!chain_first) return false;
      out->push_back(c == 2 ? eltwise(algorithm::eltwise_square, 0, 0) : eltwise(algorithm::eltwise_pow, 1, c));
      return true;
    default: return false;
  }
}

bool binary_with_operand(PwOp op, int operand, bool chain_first, std::vector<ChainOp>* out) {
  switch (op) {
    case PwOp::kAdd: out->push_back(scaled_add(operand, 1, 0)); return true;
    case PwOp::kMul: out->push_back(binary(algorithm::binary_mul, operand)); return true;
    case PwOp::kMin: out->push_back(binary(algorithm::binary_min, operand)); return true;
    case PwOp::kMax: out->push_back(binary(algorithm::binary_max, operand)); return true;
    case PwOp::kSub:
      if (chain_first) {
        out->push_back(binary(algorithm::binary_sub, operand));
      } else {
        out->push_back(linear(-1, 0));
        out->push_back(scaled_add(operand, 1, 0));
      }
      return true;
    case PwOp::kDiv:
      if (!chain_first) return false;
      out->push_back(binary(algorithm::binary_div, operand));
      return true;
    case PwOp::kPRelu: {
      if (!chain_first) return false;
      ChainOp op_made = binary(algorithm::undef, operand);
      op_made.kind = Kind::kPRelu;
      out->push_back(op_made);
      return true;
    }
    default: return false;
  }
}

// acc (op) (scale * operand + shift).
bool binary_with_affine(PwOp op, const Affine& other, bool chain_first, std::vector<ChainOp>* out) {
  for (const double v : {other.scale, 1 / other.scale})
    if (!std::isnormal(static_cast<float>(v))) return false;
  if (!std::isfinite(static_cast<float>(other.shift / other.scale))) return false;
  switch (op) {
    case PwOp::kAdd: out->push_back(scaled_add(other.operand, other.scale, other.shift)); return true;
    case PwOp::kSub:
      if (!chain_first) out->push_back(linear(-1, 0));
      out->push_back(chain_first ? scaled_add(other.operand, -other.scale, -other.shift)
                                 : scaled_add(other.operand, other.scale, other.shift));
      return true;
    case PwOp::kMul:
      if (other.shift != 0) return false;
      out->push_back(linear(other.scale, 0));
      return binary_with_operand(op, other.operand, chain_first, out);
    default: return false;
  }
}

// The ops for one instruction that consumes `value`. False: oneDNN has nothing that means the same.
bool translate(const std::vector<Affine>& affine, const PwInstr& instr, uint16_t value, std::vector<ChainOp>* out) {
  if (instr.op == PwOp::kQuantize) {
    if (instr.a != value || (instr.type != DType::kU8 && instr.type != DType::kI8)) return false;
    const Affine &scale = affine[instr.b], &zero = affine[instr.c];
    if (!scale.valid || scale.operand >= 0 || !(scale.shift > 0) || !zero.valid || zero.operand >= 0) return false;
    if (!std::isnormal(static_cast<float>(scale.shift)) || std::fabs(zero.shift) > 255 ||
        zero.shift != std::floor(zero.shift))
      return false;
    ChainOp op;
    op.kind = Kind::kQuantize;
    op.alpha = static_cast<float>(scale.shift);
    op.beta = static_cast<float>(zero.shift);
    op.type = instr.type;
    out->push_back(op);
    return true;
  }
  if (!is_model_float(instr.type)) return false;
  if (instr.op == PwOp::kCast) {
    ChainOp op;
    op.kind = Kind::kConvert;
    op.type = instr.type;
    out->push_back(op);
    return true;
  }
  if (pw_op_arity(instr.op) == 2) {
    if (instr.a == value && instr.b == value) {
      if (instr.op != PwOp::kMul) return false;
      out->push_back(eltwise(algorithm::eltwise_square, 0, 0));
      return true;
    }
    const bool chain_first = instr.a == value;
    const Affine& other = affine[chain_first ? instr.b : instr.a];
    if (!other.valid) return false;
    if (other.operand < 0) return binary_with_constant(instr.op, other.shift, chain_first, out);
    if (other.scale == 1 && other.shift == 0) return binary_with_operand(instr.op, other.operand, chain_first, out);
    return binary_with_affine(instr.op, other, chain_first, out);
  }
  if (instr.op == PwOp::kSelu) {  // gamma * elu(x, alpha)
    out->push_back(eltwise(algorithm::eltwise_elu, instr.imm0, 0));
    out->push_back(linear(instr.imm1, 0));
    return true;
  }
  for (const EltwiseRow& row : kEltwise) {
    if (row.op != instr.op) continue;
    const bool fixed = row.imm == Imm::kFixed;
    const double alpha = row.imm == Imm::kNone ? 0 : fixed ? row.alpha : instr.imm0;
    const double beta = row.imm == Imm::kAlphaBeta ? instr.imm1 : fixed ? row.beta : 0;
    if (std::isnan(alpha) || std::isnan(beta)) return false;
    if (row.alg == algorithm::eltwise_clip && !(static_cast<float>(alpha) <= static_cast<float>(beta))) return false;
    out->push_back(eltwise(row.alg, alpha, beta));
    return true;
  }
  return false;
}

// The quantized value as a float: round(x / scale) + zero, within the type's range.
std::vector<ChainOp> rounded_between(const ChainOp& quantize) {
  const bool is_signed = quantize.type == DType::kI8;
  const double zero = quantize.beta;
  return {linear(1.0 / quantize.alpha, 0), eltwise(algorithm::eltwise_round, 0, 0),
          eltwise(algorithm::eltwise_clip, (is_signed ? -128 : 0) - zero, (is_signed ? 127 : 255) - zero),
          linear(1, zero)};
}

// Two ops as one, where that is the same up to rounding to f32.
bool merge_into(ChainOp* first, const ChainOp& second) {
  if (first->kind != Kind::kEltwise || second.kind != Kind::kEltwise) return false;
  const bool clips = first->algorithm == algorithm::eltwise_clip;
  if (first->algorithm == algorithm::eltwise_linear && second.algorithm == algorithm::eltwise_linear) {
    first->beta = second.alpha * first->beta + second.beta;
    first->alpha *= second.alpha;
    if (!std::isnormal(first->alpha) || !std::isfinite(first->beta)) return false;
  } else if (clips && second.algorithm == algorithm::eltwise_clip && second.alpha <= first->beta &&
             second.beta >= first->alpha) {
    first->alpha = std::max(first->alpha, second.alpha);
    first->beta = std::min(first->beta, second.beta);
  } else {
    return false;
  }
  first->value = second.value;
  return true;
}

// Fewer ops for the same: dequantizing in between is a subtraction, a factor and a relu, each of them an op.
void shorten(std::vector<ChainOp>* ops) {
  std::vector<ChainOp> out;
  for (const ChainOp& op : *ops) {
    if (op.kind == Kind::kConvert && op.type == DType::kF32 && !out.empty()) {
      out.back().value = op.value;
      continue;
    }
    // relu(a x + b), a > 0, is a clip(x) + b with the clip at -b / a: after another clip the two are one.
    const bool relu = op.kind == Kind::kEltwise && op.algorithm == algorithm::eltwise_relu && op.alpha == 0;
    if (relu && out.size() > 1 && out.back().algorithm == algorithm::eltwise_linear &&
        out.back().kind == Kind::kEltwise && out.back().alpha > 0 && out[out.size() - 2].kind == Kind::kEltwise &&
        out[out.size() - 2].algorithm == algorithm::eltwise_clip) {
      ChainOp& clip = out[out.size() - 2];
      const float low = -out.back().beta / out.back().alpha;
      if (low <= clip.beta) {
        clip.alpha = std::max(clip.alpha, low);
        clip.value = -1;
        out.back().value = op.value;
        continue;
      }
    }
    ChainOp merged = out.empty() ? op : out.back();
    if (!out.empty() && merge_into(&merged, op))
      out.back() = merged;
    else
      out.push_back(op);
  }
  // A factor and a shift in front of the last rounding do the scaling as well.
  if (out.size() > 1 && out.back().kind == Kind::kQuantize) {
    ChainOp& before = out[out.size() - 2];
    ChainOp& last = out.back();
    const float scale = before.alpha / last.alpha, shift = before.beta / last.alpha + last.beta;
    if (before.kind == Kind::kEltwise && before.algorithm == algorithm::eltwise_linear && std::isnormal(scale) &&
        std::isfinite(shift)) {
      before = linear(scale, shift);
      last.alpha = 1, last.beta = 0;
    }
  }
  *ops = std::move(out);
}

// The only instruction that reads `value`; -1 where there are none or several.
int only_user(const PointwiseExpr& expr, uint16_t value) {
  int user = -1;
  for (size_t i = 0; i < expr.code.size(); ++i) {
    const PwInstr& instr = expr.code[i];
    const uint16_t operands[] = {instr.a, instr.b, instr.c};
    bool reads = false;
    for (int k = 0; k < pw_op_arity(instr.op); ++k) reads = reads || operands[k] == value;
    if (!reads) continue;
    if (user >= 0) return -1;
    user = static_cast<int>(i);
  }
  return user;
}

}  // namespace

Chain linear_chain(const PointwiseExpr& expr) {
  Chain chain;
  if (expr.outputs.size() != 1) return chain;
  for (size_t i = 0; i < expr.code.size(); ++i) {
    if (expr.code[i].op != PwOp::kInput || expr.code[i].a != 0) continue;
    if (chain.start >= 0 || !is_model_float(expr.code[i].type)) return Chain{};  // two loads of it: no single chain
    chain.start = static_cast<int>(i);
  }
  if (chain.start < 0) return chain;
  const std::vector<Affine> affine = affine_values(expr);
  auto value = static_cast<uint16_t>(chain.start);
  while (value != expr.outputs[0]) {
    const int user = only_user(expr, value);
    if (user < 0) return chain;
    const PwInstr& instr = expr.code[static_cast<size_t>(user)];
    std::vector<ChainOp> made;
    if (!translate(affine, instr, value, &made)) return chain;
    // An integer at the end is the result's type; one in between is a rounded float.
    if (made.back().kind == Kind::kQuantize && user != expr.outputs[0]) made = rounded_between(made.back());
    made.back().value = user;
    chain.ops.insert(chain.ops.end(), made.begin(), made.end());
    value = static_cast<uint16_t>(user);
  }
  chain.complete = true;
  shorten(&chain.ops);
  return chain;
}

PointwiseExpr remainder_after(const PointwiseExpr& expr, int value) {
  std::vector<uint8_t> needed(expr.code.size(), 0);
  for (const uint16_t v : expr.outputs) needed[v] = 1;
  for (size_t i = expr.code.size(); i-- > 0;) {
    if (!needed[i] || static_cast<int>(i) == value) continue;
    const PwInstr& instr = expr.code[i];
    const uint16_t operands[] = {instr.a, instr.b, instr.c};
    for (int k = 0; k < pw_op_arity(instr.op); ++k) needed[operands[k]] = 1;
  }
  PointwiseExpr rest;
  rest.num_inputs = expr.num_inputs;
  std::vector<uint16_t> renamed(expr.code.size(), 0);
  for (size_t i = 0; i < expr.code.size(); ++i) {
    if (!needed[i]) continue;
    PwInstr instr = expr.code[i];
    if (static_cast<int>(i) == value) {
      renamed[i] = rest.push(PwOp::kInput, DType::kF32, 0);
      if (instr.type != DType::kF32) renamed[i] = rest.push(PwOp::kCast, instr.type, renamed[i]);
      continue;
    }
    const int arity = pw_op_arity(instr.op);
    if (arity > 0) instr.a = renamed[instr.a];
    if (arity > 1) instr.b = renamed[instr.b];
    if (arity > 2) instr.c = renamed[instr.c];
    rest.code.push_back(instr);
    renamed[i] = static_cast<uint16_t>(rest.code.size() - 1);
  }
  for (const uint16_t v : expr.outputs) rest.outputs.push_back(renamed[v]);
  return rest;
}

}  // namespace wootz::cpu::dnn
