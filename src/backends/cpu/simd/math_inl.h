// Vector functions of f32, compiled for each target. Maximum errors are a few units in the last place (checked by
// simd/math_test.cpp); NaN stays NaN, infinities give their limits. Polynomials are least-maximum-error fits of our
// own. No include guard in the usual sense: Highway compiles this once for each target.
#if defined(WOOTZ_SIMD_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WOOTZ_SIMD_MATH_INL_H
#undef WOOTZ_SIMD_MATH_INL_H
#else
#define WOOTZ_SIMD_MATH_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;
using I = hn::RebindToSigned<F>;

HWY_INLINE V splat(float value) { return hn::Set(F(), value); }
// 2^n for integral n in [-252, 254] by two factors, so that results may be subnormal or infinite.
template <class VI>
HWY_INLINE V scale_by_power(V x, VI n) {
  const I di;
  const auto half = hn::ShiftRight<1>(n);
  const auto rest = hn::Sub(n, half);
  const auto bias = hn::Set(di, 127);
  const V a = hn::BitCast(F(), hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V b = hn::BitCast(F(), hn::ShiftLeft<23>(hn::Add(rest, bias)));
  return hn::Mul(hn::Mul(x, a), b);
}

// x = n ln2 + r; gives n and q = e^r - 1.
template <class VI>
HWY_INLINE V exp_parts(V x, VI* n) {
  x = hn::Min(splat(89.0f), hn::Max(splat(-104.0f), x));  // the second operand is kept when it is NaN
  const V k = hn::Round(hn::Mul(x, splat(1.44269504f)));
  *n = hn::NearestInt(k);
  V r = hn::NegMulAdd(k, splat(0.693145752f), x);
  r = hn::NegMulAdd(k, splat(1.42860677e-6f), r);
  V p = splat(0.00139517197f);
  p = hn::MulAdd(p, r, splat(0.00836959854f));
  p = hn::MulAdd(p, r, splat(0.0416661873f));
  p = hn::MulAdd(p, r, splat(0.166665122f));
  p = hn::MulAdd(p, r, splat(0.5f));
  return hn::MulAdd(hn::Mul(r, r), p, r);
}
HWY_INLINE V vexp(V x) {
  hn::Vec<I> n;
  const V q = exp_parts(x, &n);
  return scale_by_power(hn::Add(q, splat(1.0f)), n);
}
// The same, but 0 for what would be subnormal: that takes processors as long as fifty others.
HWY_INLINE V vexp_normal(V x) {
  const V least = splat(-87.0f);
  return hn::IfThenZeroElse(hn::Lt(x, least), vexp(hn::Max(least, x)));
}
HWY_INLINE V vexpm1(V x) {
  hn::Vec<I> n;
  const V q = exp_parts(x, &n);
  const V large = hn::Sub(scale_by_power(hn::Add(q, splat(1.0f)), n), splat(1.0f));
  return hn::IfThenElse(hn::Lt(hn::Abs(x), splat(0.3465f)), q, large);
}

HWY_INLINE V vlog(V x) {
  const F d;
  const I di;
  const auto tiny = hn::Lt(x, splat(1.17549435e-38f));  // subnormal, zero, negative
  const V scaled = hn::IfThenElse(tiny, hn::Mul(x, splat(8388608.0f)), x);
  // Mantissa in [sqrt(1/2), sqrt(2)).
  const auto bits = hn::BitCast(di, scaled);
  const auto shifted = hn::Sub(bits, hn::Set(di, 0x3f3504f3));
  const auto e = hn::ShiftRight<23>(shifted);
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e)));
  const V k = hn::Sub(hn::ConvertTo(d, e), hn::IfThenElseZero(tiny, splat(23.0f)));
  const V f = hn::Sub(m, splat(1.0f));
  V p = splat(0.0674664676f);
  p = hn::MulAdd(p, f, splat(-0.116756625f));
  p = hn::MulAdd(p, f, splat(0.11888165f));
  p = hn::MulAdd(p, f, splat(-0.124055877f));
  p = hn::MulAdd(p, f, splat(0.142195523f));
  p = hn::MulAdd(p, f, splat(-0.166679963f));
  p = hn::MulAdd(p, f, splat(0.200021192f));
  p = hn::MulAdd(p, f, splat(-0.250000089f));
  p = hn::MulAdd(p, f, splat(0.333333135f));
  const V f2 = hn::Mul(f, f);
  V r = hn::MulAdd(k, splat(1.42860677e-6f), hn::Mul(hn::Mul(f2, f), p));
  r = hn::NegMulAdd(splat(0.5f), f2, r);
  r = hn::Add(r, f);
  r = hn::MulAdd(k, splat(0.693145752f), r);
  const V inf = hn::Inf(d);
  r = hn::IfThenElse(hn::Eq(x, inf), inf, r);
  r = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), r);
  return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), r, hn::NaN(d));
}
// log(1 + y) for y >= 0 (NaN stays NaN), accurate for small y too.
HWY_INLINE V vlog1p_positive(V y) {
  const V u = hn::Add(y, splat(1.0f));
  const V d = hn::Sub(u, splat(1.0f));
  const V r = hn::Div(hn::Mul(vlog(u), y), d);
  return hn::IfThenElse(hn::Eq(u, splat(1.0f)), y, hn::IfThenElse(hn::Eq(y, hn::Inf(F())), y, r));
}

HWY_INLINE V vsigmoid(V x) {
  const V one = splat(1.0f);
  return hn::Div(one, hn::Add(one, vexp(hn::Neg(x))));
}

HWY_INLINE V vtanh(V x) {
  const V a = hn::Abs(x);
  const V x2 = hn::Mul(x, x);
  V p = splat(-0.00566697214f);
  p = hn::MulAdd(p, x2, splat(0.0206061713f));
  p = hn::MulAdd(p, x2, splat(-0.0537300073f));
  p = hn::MulAdd(p, x2, splat(0.133313313f));
  p = hn::MulAdd(p, x2, splat(-0.333332777f));
  const V small = hn::MulAdd(hn::Mul(x2, x), p, x);
  const V e = vexp(hn::Add(a, a));
  const V large = hn::Sub(splat(1.0f), hn::Div(splat(2.0f), hn::Add(e, splat(1.0f))));
  return hn::IfThenElse(hn::Lt(a, splat(0.625f)), small, hn::CopySign(large, x));
}

// erf(x) / x for |x| < 1, as a polynomial of x^2, less 1.
HWY_INLINE V erf_ratio(V x2) {
  V p = splat(7.8538782e-05f);
  p = hn::MulAdd(p, x2, splat(-0.000801019953f));
  p = hn::MulAdd(p, x2, splat(0.00518832868f));
  p = hn::MulAdd(p, x2, splat(-0.0268538129f));
  p = hn::MulAdd(p, x2, splat(0.112835854f));
  p = hn::MulAdd(p, x2, splat(-0.37612626f));
  return hn::MulAdd(p, x2, splat(0.128379110f));
}
// erfc(t) for t >= 1: e to the minus a polynomial, continued by t^2 beyond 4.
HWY_INLINE V erfc_large(V t) {
  const V four = splat(4.0f);
  const V u = hn::Sub(hn::Min(four, t), splat(2.0f));
  V p = splat(2.16867538e-05f);
  p = hn::MulAdd(p, u, splat(-0.000137720635f));
  p = hn::MulAdd(p, u, splat(0.000730220752f));
  p = hn::MulAdd(p, u, splat(-0.00357050239f));
  p = hn::MulAdd(p, u, splat(0.0164658148f));
  p = hn::MulAdd(p, u, splat(0.923750997f));
  p = hn::MulAdd(p, u, splat(4.41816092f));
  p = hn::MulAdd(p, u, splat(5.36494112f));
  const V beyond = hn::Max(hn::Zero(F()), hn::MulSub(t, t, splat(16.0f)));
  return vexp(hn::Neg(hn::Add(p, beyond)));
}
HWY_INLINE V verf(V x) {
  const V a = hn::Abs(x);
  const V small = hn::MulAdd(x, erf_ratio(hn::Mul(x, x)), x);
  const V large = hn::CopySign(hn::Sub(splat(1.0f), erfc_large(a)), x);
  // NaN takes the first branch, which keeps it.
  return hn::IfThenElse(hn::Ge(a, splat(1.0f)), large, small);
}
// x/2 * erfc(-x / sqrt(2)): no cancellation for negative x.
HWY_INLINE V vgelu_erf(V x) {
  const V h = hn::Mul(x, splat(0.5f));
  const V s = hn::Mul(x, splat(0.707106781f));
  const V t = hn::Abs(s);
  const V erf = hn::MulAdd(s, erf_ratio(hn::Mul(s, s)), s);
  const V small = hn::MulAdd(h, erf, h);
  const V tail = hn::Mul(h, erfc_large(t));
  const V large = hn::IfThenElse(hn::Lt(x, hn::Zero(F())), tail, hn::Sub(x, tail));
  const auto is_large = hn::Ge(t, splat(1.0f));
  const V r = hn::IfThenElse(is_large, large, small);
  return hn::IfThenElse(hn::Eq(x, hn::Inf(F())), x, r);  // inf - inf * 0
}
HWY_INLINE V vgelu_tanh(V x) {
  const V x2 = hn::Mul(x, x);
  const V inner = hn::Mul(x, hn::MulAdd(x2, splat(2 * 0.79788456f * 0.044715f), splat(2 * 0.79788456f)));
  return hn::Mul(x, vsigmoid(inner));
}
HWY_INLINE V vsoftplus(V x) { return hn::Add(hn::Max(hn::Zero(F()), x), vlog1p_positive(vexp(hn::Neg(hn::Abs(x))))); }
// x * tanh(softplus(x)), with e = exp(x): tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2).
HWY_INLINE V vmish(V x) {
  const V e = vexp(hn::Min(splat(20.0f), x));
  const V n = hn::MulAdd(e, e, hn::Add(e, e));
  return hn::Mul(x, hn::Div(n, hn::Add(n, splat(2.0f))));
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#endif  // WOOTZ_SIMD_MATH_INL_H
