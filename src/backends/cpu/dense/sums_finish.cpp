#include "backends/cpu/dense/sums_finish.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/onednn/post_ops.h"

namespace wootz::cpu {
namespace {

using dnnl::algorithm;
using Kind = SumsEnd::Kind;
using Type = SumsEnd::Type;

std::optional<Type> type_of(DType type) {
  switch (type) {
    case DType::kF32: return Type::kF32;
    case DType::kBF16: return Type::kBf16;
    case DType::kU8: return Type::kU8;
    case DType::kI8: return Type::kI8;
    default: return std::nullopt;
  }
}
struct ActivationRow {
  algorithm from;
  Activation to;
};
constexpr ActivationRow kActivations[] = {
    {algorithm::eltwise_swish, Activation::kSilu},
    {algorithm::eltwise_logistic, Activation::kSigmoid},
    {algorithm::eltwise_gelu_erf, Activation::kGeluErf},
    {algorithm::eltwise_gelu_tanh, Activation::kGeluTanh},
    {algorithm::eltwise_hardsigmoid, Activation::kHardSigmoid},
    {algorithm::eltwise_hardswish, Activation::kHardSwish},
};

std::optional<SumsEnd> from_eltwise(const dnn::ChainOp& op) {
  SumsEnd e{.alpha = op.alpha, .beta = op.beta};
  switch (op.algorithm) {
    case algorithm::eltwise_linear: return e;
    case algorithm::eltwise_round: e.kind = Kind::kRound; return e;
    case algorithm::eltwise_clip: e.kind = Kind::kClip; return e;
    case algorithm::eltwise_relu:
      if (op.alpha != 0) return std::nullopt;
      e.kind = Kind::kClip;
      e.beta = std::numeric_limits<float>::infinity();
      return e;
    default: break;
  }
  for (const ActivationRow& row : kActivations) {
    if (row.from != op.algorithm) continue;
    e.kind = Kind::kActivation;
    e.activation = row.to;
    return e;
  }
  return std::nullopt;
}

// An operand that lies as the result does.
std::optional<SumsEnd> from_operand(const Problem& p, const dnn::ChainOp& op) {
  const size_t input = static_cast<size_t>(p.num_main) + op.operand - 1;
  if (op.operand < 1 || input >= p.inputs.size()) return std::nullopt;
  const TensorDesc &t = p.inputs[input], &y = p.outputs[0];
  const std::optional<Type> type = type_of(t.dtype);
  if (!type || t.layout != y.layout || !(t.dims == y.dims) || !(t.max_dims == y.max_dims)) return std::nullopt;
  return SumsEnd{
      .kind = Kind::kAdd, .type = *type, .alpha = op.alpha, .beta = op.beta, .input = static_cast<int>(input)};
}

// The input of floats that an operand of the expression is, when it has an element for each row of a product (`rows`),
// or for each column; -1: it has not.
int input_along(const Problem& p, uint16_t operand, bool rows) {
  const size_t input = static_cast<size_t>(p.num_main) + operand - 1;
  if (operand < 1 || input >= p.inputs.size()) return -1;
  const TensorDesc &t = p.inputs[input], &y = p.outputs[0];
  if (t.dtype != DType::kF32 || t.layout != Layout::kLinear || y.layout != Layout::kLinear || t.dims.rank() < 1)
    return -1;
  if (!rows) return t.dims.back() == y.dims.back() && t.dims.volume() == y.dims.back() ? static_cast<int>(input) : -1;
  const auto fits = [](Dims scales, const Dims& of) {
    if (scales.rank() != of.rank() || scales.back() != 1) return false;
    scales[scales.size() - 1] = of.back();
    return scales == of;
  };
  return fits(t.dims, y.dims) && fits(t.max_dims, y.max_dims) ? static_cast<int>(input) : -1;
}

// What a product of rows with scales of their own begins with. Gives how many ops that is.
size_t read_rows(const Problem& p, const std::vector<dnn::ChainOp>& ops, SumsFinish* f) {
  using ChainKind = dnn::ChainOp::Kind;
  if (!p.is(Family::kGemm) || p.num_main != 2 || !is_int8(p.inputs[0].dtype) || ops.empty() ||
      ops[0].kind != ChainKind::kBinary || ops[0].algorithm != algorithm::binary_mul)
    return 0;
  f->rows = input_along(p, ops[0].operand, true);
  if (f->rows < 0) return 0;
  f->may_be_nan = true;
  if (ops.size() < 2 || ops[1].kind != ChainKind::kAdd || ops[1].alpha != 1 || ops[1].beta != 0) return 1;
  f->bias = input_along(p, ops[1].operand, false);
  return f->bias < 0 ? 1 : 2;
}

// alpha * x + beta of ends[at], alpha > 0, goes into the linear end ahead of it, or into the sums' factor and shift,
// where all ends between can take it. False: it stays.
bool fold_linear(SumsFinish* f, size_t at) {
  const SumsEnd e = f->ends[at];
  if (!(e.alpha > 0)) return false;
  size_t first = at;
  while (first > 0 && (f->ends[first - 1].kind == Kind::kClip || f->ends[first - 1].kind == Kind::kAdd)) --first;
  if (first > 0 && f->ends[first - 1].kind != Kind::kLinear) return false;
  float &factor = first > 0 ? f->ends[first - 1].alpha : f->factor,
        &shift = first > 0 ? f->ends[first - 1].beta : f->shift;
  factor *= e.alpha;
  shift = shift * e.alpha + e.beta;
  for (size_t i = first; i < at; ++i) {
    SumsEnd& between = f->ends[i];
    const float moved = between.kind == Kind::kClip ? e.beta : 0;
    between.alpha = between.alpha * e.alpha + moved;
    between.beta = between.beta * e.alpha + moved;
  }
  f->ends.erase(f->ends.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}
void fold_linears(SumsFinish* f) {
  for (size_t at = 0; at < f->ends.size();)
    if (f->ends[at].kind != Kind::kLinear || !fold_linear(f, at)) ++at;
}

// A shift after a linear end is a part of it.
void fold_shifts(SumsFinish* f) {
  for (size_t i = 0; i + 1 < f->ends.size(); ++i) {
    SumsEnd &linear = f->ends[i], &added = f->ends[i + 1];
    if (linear.kind != Kind::kLinear || added.kind != Kind::kAdd) continue;
    linear.beta += added.beta;
    added.beta = 0;
  }
}

// Factors and shifts ahead of everything else belong to the sums' scales.
void fold_first(SumsFinish* f) {
  while (!f->ends.empty() && f->ends.front().kind == Kind::kLinear) {
    const SumsEnd e = f->ends.front();
    f->factor *= e.alpha;
    f->shift = f->shift * e.alpha + e.beta;
    f->ends.erase(f->ends.begin());
  }
  for (size_t i = 0; i < f->ends.size() && f->ends[i].kind == Kind::kAdd; ++i) {
    f->shift += f->ends[i].beta;
    f->ends[i].beta = 0;
  }
}

// Bounds that storing in a byte has anyway.
void drop_last_bounds(SumsFinish* f) {
  if (f->ends.empty() || f->ends.back().kind != Kind::kClip || f->may_be_nan) return;
  const float low = f->type == Type::kU8 ? 0 : -128, high = f->type == Type::kU8 ? 255 : 127;
  const auto zero = static_cast<float>(f->zero);
  if (f->ends.back().alpha + zero <= low && f->ends.back().beta + zero >= high) f->ends.pop_back();
}

// Bounds of a rounding ahead of the last one, beyond which that one saturates anyway.
void open_inner_bounds(SumsFinish* f) {
  const size_t n = f->ends.size();
  if (n < 3 || f->may_be_nan || f->ends[n - 1].kind != Kind::kLinear || f->ends[n - 2].kind != Kind::kClip) return;
  const SumsEnd& linear = f->ends[n - 1];
  SumsEnd& bounds = f->ends[n - 2];
  if (!(linear.alpha > 0) || f->ends[n - 3].kind != Kind::kRound) return;
  constexpr float kSurely = 0.51f;  // of a step: halves are rounded to even
  const float low = f->type == Type::kU8 ? 0 : -128, high = f->type == Type::kU8 ? 255 : 127;
  const auto stored = [&](float x) { return x * linear.alpha + linear.beta + static_cast<float>(f->zero); };
  if (stored(bounds.alpha) < low + 1 - kSurely) bounds.alpha = -HUGE_VALF;
  if (stored(bounds.beta) > high - 1 + kSurely) bounds.beta = HUGE_VALF;
}

bool is_approximate(const SumsEnd& e) {
  return e.kind == Kind::kActivation && e.activation != Activation::kHardSigmoid &&
         e.activation != Activation::kHardSwish;
}

bool append(const Problem& p, const dnn::ChainOp& op, SumsFinish* f) {
  using ChainKind = dnn::ChainOp::Kind;
  std::optional<SumsEnd> e;
  switch (op.kind) {
    case ChainKind::kConvert: return true;  // storing does that
    case ChainKind::kEltwise: e = from_eltwise(op); break;
    case ChainKind::kAdd: e = from_operand(p, op); break;
    case ChainKind::kQuantize:
      e = SumsEnd{.alpha = 1 / op.alpha};
      f->zero = static_cast<int32_t>(op.beta);
      if (!std::isnormal(e->alpha)) return false;
      break;
    case ChainKind::kBinary:
    case ChainKind::kPRelu: return false;
  }
  if (!e) return false;
  // Narrow types hide approximations, and so do scales that are found while running.
  if (is_approximate(*e) && f->type == Type::kF32 && p.inputs[0].dtype != DType::kBF16 && f->rows < 0) return false;
  f->may_be_nan |= e->kind == Kind::kAdd && !is_bytes(e->type);
  if (e->kind == Kind::kLinear && e->alpha == 1 && e->beta == 0) return true;
  f->ends.push_back(*e);
  return true;
}

}  // namespace

std::optional<SumsFinish> read_sums_finish(const Problem& p, Tables tables) {
  SumsFinish f;
  PointwiseExpr epilogue = p.epilogue;
  std::optional<Type> type = type_of(p.outputs[0].dtype);
  if (!type) return std::nullopt;
  if (tables == Tables::kYes) {
    if (std::optional<TabledExpr> split = split_at_bytes(epilogue); split) {
      f.table = std::make_shared<const ByteTable>(split->table);
      epilogue = std::move(split->head);
      type = type_of(epilogue.output_type());
    }
  }
  f.type = *type;
  f.may_be_nan = p.inputs[0].dtype == DType::kBF16;
  if (epilogue.empty()) return is_bytes(*type) ? std::nullopt : std::optional(f);
  const dnn::Chain chain = dnn::linear_chain(epilogue);
  if (!chain.complete) return std::nullopt;
  const bool quantizes = !chain.ops.empty() && chain.ops.back().kind == dnn::ChainOp::Kind::kQuantize;
  if (quantizes != is_bytes(*type)) return std::nullopt;
  for (size_t i = read_rows(p, chain.ops, &f); i < chain.ops.size(); ++i)
    if (!append(p, chain.ops[i], &f)) return std::nullopt;
  if (quantizes) fold_linears(&f);
  fold_first(&f);
  fold_shifts(&f);
  if (quantizes) drop_last_bounds(&f);
  if (quantizes) open_inner_bounds(&f);
  return f;
}

std::optional<SumsFinish> read_sums_finish(const Problem& p, const BindArgs& args, Tables tables) {
  std::optional<SumsFinish> f = read_sums_finish(p, tables);
  const auto fits = [&](const SumsEnd& e) {
    return e.input < 0 || args.inputs[static_cast<size_t>(e.input)] == args.outputs[0];
  };
  const auto is_as_long = [&](int input, bool rows) {
    const Dims& y = args.outputs[0];
    return input < 0 || y.volume() == 0 ||
           args.inputs[static_cast<size_t>(input)].volume() == (rows ? y.volume() / y.back() : y.back());
  };
  if (f && (!is_as_long(f->rows, true) || !is_as_long(f->bias, false))) return std::nullopt;
  return f && std::all_of(f->ends.begin(), f->ends.end(), fits) ? f : std::nullopt;
}

LargestResult largest_result(const SumsFinish& f, int64_t products, std::span<const float> scales) {
  // The largest product of two bytes, as many as there are; a NaN anywhere is not below a limit either.
  const float sums = 255.0f * 128.0f * static_cast<float>(products);
  LargestResult most;
  for (const float scale : scales) most.sums = std::max(most.sums, sums * std::fabs(scale));
  if (f.rows >= 0) most.sums = HUGE_VALF;
  for (const SumsEnd& e : f.ends) {
    const float alpha = std::fabs(e.alpha), beta = std::fabs(e.beta);
    if (e.kind == Kind::kAdd) most.sums += 255 * alpha + beta;
    if (e.kind == Kind::kClip && std::isfinite(std::max(alpha, beta))) most = {std::max(alpha, beta), 0};
    if (e.kind == Kind::kLinear) most = {most.sums * alpha + beta, most.of_bias * alpha};
    if (e.kind == Kind::kActivation) most.sums = HUGE_VALF;
  }
  return most;
}

}  // namespace wootz::cpu
