// From sums of f32 to results of BF16 or f32, for each target.
#if defined(WOOTZ_BF16_FINISH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WOOTZ_BF16_FINISH_INL_H
#undef WOOTZ_BF16_FINISH_INL_H
#else
#define WOOTZ_BF16_FINISH_INL_H
#endif

#include "backends/cpu/dense/bf16_end.h"
#include "backends/cpu/pointwise/loop_inl.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE V load_first(const T* p, int64_t n) {
  return n >= static_cast<int64_t>(hn::Lanes(F())) ? load_lanes(p) : load_tail(p, n);
}

// 1 / (1 + exp(-x)) to 2^-11, which rounding to BF16 hides: 2^t by a polynomial of degree 3 on half an octave to either
// side, and the hardware's estimate of a reciprocal. Infinite x give 0 and 1, NaN stays NaN.
HWY_INLINE V bf16_sigmoid(V x) {
  // The second operand is kept when it is NaN.
  const V t = hn::Min(splat(126), hn::Max(splat(-126), hn::Mul(x, splat(-1.44269504f))));
  const V whole = hn::Round(t), r = hn::Sub(t, whole);
  V p = hn::MulAdd(r, splat(0.0551716f), splat(0.2426112f));
  p = hn::MulAdd(p, r, splat(0.693261f));
  p = hn::MulAdd(p, r, splat(0.9999281f));
  const auto power = hn::ShiftLeft<23>(hn::Add(hn::NearestInt(whole), hn::Set(I(), 127)));
  return hn::ApproximateReciprocal(hn::MulAdd(p, hn::BitCast(F(), power), splat(1)));
}

HWY_INLINE V activated(const Bf16End& t, V x) {
  switch (t.activation) {
    case Activation::kNone: break;
    case Activation::kSilu: return hn::Mul(x, bf16_sigmoid(hn::Mul(x, splat(t.alpha))));
    case Activation::kSigmoid: return bf16_sigmoid(x);
    case Activation::kGeluErf:
      return hn::Mul(hn::Mul(x, splat(0.5f)), hn::Add(splat(1), verf(hn::Mul(x, splat(0.70710678f)))));
    case Activation::kGeluTanh: {
      const V cubic = hn::MulAdd(hn::Mul(x, x), splat(0.0713548f), splat(1.5957691f));
      return hn::Mul(x, bf16_sigmoid(hn::Mul(x, cubic)));
    }
    case Activation::kHardSigmoid:
    case Activation::kHardSwish: {
      const V gate = hn::Min(splat(1), hn::Max(hn::Zero(F()), hn::MulAdd(x, splat(t.alpha), splat(t.beta))));
      return t.activation == Activation::kHardSwish ? hn::Mul(x, gate) : gate;
    }
  }
  // The second operand is kept when it is NaN.
  return t.bounded ? hn::Min(splat(t.high), hn::Max(splat(t.low), x)) : x;
}

// One vector of sums, in row i and from column c on.
HWY_INLINE void finish(const Bf16End& t, V x, int64_t i, int64_t c) {
  const int64_t at = i * t.out_stride + c, n = t.columns - c;
  V added = hn::Zero(F());
  if (t.added != nullptr)
    added = t.added_is_bf16 ? load_first(static_cast<const Bf16Bits*>(t.added) + at, n)
                            : load_first(static_cast<const float*>(t.added) + at, n);
  if (t.added != nullptr && !t.added_last) x = hn::Add(x, added);
  x = activated(t, x);
  if (t.added_last) x = hn::Add(x, added);
  const auto store = [&](auto* to) HWY_ATTR {
    if (n >= static_cast<int64_t>(hn::Lanes(F())))
      store_lanes(x, to);
    else
      store_tail(x, to, n);
  };
  if (t.out_is_bf16)
    store(static_cast<Bf16Bits*>(t.out) + at);
  else
    store(static_cast<float*>(t.out) + at);
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#endif  // WOOTZ_BF16_FINISH_INL_H
