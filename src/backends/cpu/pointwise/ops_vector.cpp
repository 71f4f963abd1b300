// f32 operations of the engine with vector instructions.
#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/pointwise/ops_vector.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/pointwise/loop_inl.h"
#include "backends/cpu/pointwise/ops.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

V zero() { return hn::Zero(F()); }
float imm(double value) { return static_cast<float>(value); }

// Each loop names its operation once; OpArgs carries everything else.
#define UNARY(name, expr)                                                                                      \
  void name(const OpArgs& p) {                                                                                 \
    [[maybe_unused]] const V i0 = splat(imm(p.imm0)), i1 = splat(imm(p.imm1));                                 \
    map1(static_cast<const float*>(p.a), static_cast<float*>(p.dst), p.n, [&](V x) HWY_ATTR { return expr; }); \
  }
#define BINARY(name, expr)                                                                                \
  void name(const OpArgs& p) {                                                                            \
    map2(static_cast<const float*>(p.a), static_cast<const float*>(p.b), static_cast<float*>(p.dst), p.n, \
         [](V x, V y) HWY_ATTR { return expr; });                                                         \
  }
#define COMPARE(name, expr)                                                                                     \
  void name(const OpArgs& p) {                                                                                  \
    map_mask(static_cast<const float*>(p.a), static_cast<const float*>(p.b), static_cast<uint8_t*>(p.dst), p.n, \
             [](V x, V y) HWY_ATTR { return expr; });                                                           \
  }

BINARY(add, hn::Add(x, y))
BINARY(sub, hn::Sub(x, y))
BINARY(mul, hn::Mul(x, y))
BINARY(div, hn::Div(x, y))
// The instruction gives its second operand when one is NaN: y when y is NaN; the choice restores x.
BINARY(min, hn::IfThenElse(hn::IsNaN(x), x, hn::Min(x, y)))
BINARY(max, hn::IfThenElse(hn::IsNaN(x), x, hn::Max(x, y)))
BINARY(prelu, hn::IfThenElse(hn::Lt(x, zero()), hn::Mul(x, y), x))
COMPARE(equal, hn::Eq(x, y))
COMPARE(less, hn::Lt(x, y))
COMPARE(less_equal, hn::Le(x, y))
COMPARE(greater, hn::Gt(x, y))
COMPARE(greater_equal, hn::Ge(x, y))
void is_nan(const OpArgs& p) {
  const auto* x = static_cast<const float*>(p.a);
  map_mask(x, x, static_cast<uint8_t*>(p.dst), p.n, [](V a, V) HWY_ATTR { return hn::IsNaN(a); });
}

// Low first, then high, NaN kept.
HWY_INLINE V clip(V x, V low, V high) { return hn::Min(high, hn::Max(low, x)); }

UNARY(neg, hn::Neg(x))
UNARY(abs, hn::Abs(x))
UNARY(sign, hn::IfThenElse(hn::Gt(x, zero()), splat(1), hn::IfThenElse(hn::Lt(x, zero()), splat(-1), x)))
UNARY(sqrt, hn::Sqrt(x))
UNARY(reciprocal, hn::Div(splat(1), x))
UNARY(exp, vexp(x))
UNARY(log, vlog(x))
UNARY(erf, verf(x))
UNARY(ceil, hn::Ceil(x))
UNARY(floor, hn::Floor(x))
UNARY(round, hn::Round(x))
UNARY(relu, hn::IfThenElse(hn::Lt(x, zero()), zero(), x))
UNARY(leaky_relu, hn::IfThenElse(hn::Lt(x, zero()), hn::Mul(i0, x), x))
UNARY(clip_op, clip(x, i0, i1))
UNARY(sigmoid, vsigmoid(x))
UNARY(tanh, vtanh(x))
UNARY(gelu_erf, vgelu_erf(x))
UNARY(gelu_tanh, vgelu_tanh(x))
UNARY(silu, hn::Mul(x, vsigmoid(hn::Mul(i0, x))))
UNARY(hard_sigmoid, clip(hn::MulAdd(i0, x, i1), zero(), splat(1)))
UNARY(hard_swish, hn::Mul(x, clip(hn::MulAdd(x, splat(1.0f / 6), splat(0.5f)), zero(), splat(1))))
UNARY(mish, vmish(x))
UNARY(softplus, vsoftplus(x))
UNARY(softsign, hn::Div(x, hn::Add(splat(1), hn::Abs(x))))
UNARY(elu, hn::IfThenElse(hn::Lt(x, zero()), hn::Mul(i0, vexpm1(x)), x))
UNARY(celu, hn::IfThenElse(hn::Lt(x, zero()), hn::Mul(i0, vexpm1(hn::Div(x, i0))), x))
UNARY(selu, hn::Mul(i1, hn::IfThenElse(hn::Lt(x, zero()), hn::Mul(i0, vexpm1(x)), x)))
UNARY(thresholded_relu, hn::IfThenElse(hn::Le(x, i0), zero(), x))
UNARY(shrink, hn::IfThenElse(hn::Lt(x, hn::Neg(i0)), hn::Add(x, i1),
                             hn::IfThenElse(hn::Gt(x, i0), hn::Sub(x, i1), hn::IfThenElse(hn::IsNaN(x), x, zero()))))

void select(const OpArgs& p) {
  const auto* mask = static_cast<const uint8_t*>(p.a);
  const auto *b = static_cast<const float*>(p.b), *c = static_cast<const float*>(p.c);
  auto* dst = static_cast<float*>(p.dst);
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  const hn::Rebind<uint8_t, F> d8;
  int64_t i = 0;
  for (; i + lanes <= p.n; i += lanes) {
    const auto m = hn::RebindMask(F(), hn::Gt(hn::PromoteTo(I(), hn::LoadU(d8, mask + i)), hn::Zero(I())));
    hn::StoreU(hn::IfThenElse(m, hn::LoadU(F(), b + i), hn::LoadU(F(), c + i)), F(), dst + i);
  }
  const auto *bi = static_cast<const uint32_t*>(p.b), *ci = static_cast<const uint32_t*>(p.c);
  for (; i < p.n; ++i) static_cast<uint32_t*>(p.dst)[i] = mask[i] != 0 ? bi[i] : ci[i];
}

struct VectorOp {
  PwOp op;
  OpFn run;
};
constexpr VectorOp kVectorOps[] = {
    {PwOp::kAdd, add},
    {PwOp::kSub, sub},
    {PwOp::kMul, mul},
    {PwOp::kDiv, div},
    {PwOp::kMin, min},
    {PwOp::kMax, max},
    {PwOp::kPRelu, prelu},
    {PwOp::kEqual, equal},
    {PwOp::kLess, less},
    {PwOp::kLessEqual, less_equal},
    {PwOp::kGreater, greater},
    {PwOp::kGreaterEqual, greater_equal},
    {PwOp::kIsNan, is_nan},
    {PwOp::kNeg, neg},
    {PwOp::kAbs, abs},
    {PwOp::kSign, sign},
    {PwOp::kSqrt, sqrt},
    {PwOp::kReciprocal, reciprocal},
    {PwOp::kExp, exp},
    {PwOp::kLog, log},
    {PwOp::kErf, erf},
    {PwOp::kCeil, ceil},
    {PwOp::kFloor, floor},
    {PwOp::kRound, round},
    {PwOp::kRelu, relu},
    {PwOp::kLeakyRelu, leaky_relu},
    {PwOp::kClip, clip_op},
    {PwOp::kSigmoid, sigmoid},
    {PwOp::kTanh, tanh},
    {PwOp::kGeluErf, gelu_erf},
    {PwOp::kGeluTanh, gelu_tanh},
    {PwOp::kSilu, silu},
    {PwOp::kHardSigmoid, hard_sigmoid},
    {PwOp::kHardSwish, hard_swish},
    {PwOp::kMish, mish},
    {PwOp::kSoftplus, softplus},
    {PwOp::kSoftsign, softsign},
    {PwOp::kElu, elu},
    {PwOp::kCelu, celu},
    {PwOp::kSelu, selu},
    {PwOp::kThresholdedRelu, thresholded_relu},
    {PwOp::kShrink, shrink},
};

}  // namespace

OpFn vector_op(PwOp op) {
  for (const VectorOp& row : kVectorOps)
    if (row.op == op) return row.run;
  return nullptr;
}
OpFn vector_select() { return select; }

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
OpFn find_vector_op(Isa isa, PwOp op) { return WOOTZ_BY_ISA(isa, vector_op(op)); }
OpFn find_vector_select(Isa isa) { return WOOTZ_BY_ISA(isa, vector_select()); }
}  // namespace wootz::cpu
#endif
