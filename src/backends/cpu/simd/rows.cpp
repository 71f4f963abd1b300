#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/rows.cpp"
#include "hwy/foreach_target.h"

#include <cmath>
#include <limits>

#include "backends/cpu/pointwise/loop_inl.h"
#include "backends/cpu/simd/rows.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// `step(acc, x)` on four accumulators, then `merge(a, b)` of them; elements beyond the end count as `neutral`.
template <class Step, class Merge>
HWY_INLINE V fold(const float* x, int64_t n, V start, Step step, Merge merge) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  V a0 = start, a1 = start, a2 = start, a3 = start;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a0 = step(a0, hn::LoadU(F(), x + i));
    a1 = step(a1, hn::LoadU(F(), x + i + lanes));
    a2 = step(a2, hn::LoadU(F(), x + i + 2 * lanes));
    a3 = step(a3, hn::LoadU(F(), x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a0 = step(a0, hn::LoadU(F(), x + i));
  if (i < n) {
    const V last = step(a1, load_tail(x + i, n - i));
    a1 = hn::IfThenElse(hn::FirstN(F(), static_cast<size_t>(n - i)), last, a1);
  }
  return merge(merge(a0, a1), merge(a2, a3));
}

float sum_lanes(V v) { return hn::GetLane(hn::SumOfLanes(F(), v)); }
HWY_INLINE V keep_nan_max(V a, V x) { return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, x)); }
HWY_INLINE V keep_nan_min(V a, V x) { return hn::IfThenElse(hn::IsNaN(a), a, hn::Min(a, x)); }
template <class Fn>
float over_lanes(V v, Fn f) {
  alignas(64) float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, F(), lanes);
  float r = lanes[0];
  for (size_t i = 1; i < hn::Lanes(F()); ++i) r = f(r, lanes[i]);
  return r;
}
float max_keep(float a, float x) { return std::isnan(a) || a > x ? a : x; }
float min_keep(float a, float x) { return std::isnan(a) || a < x ? a : x; }

#define ADD [](V a, V b) HWY_ATTR { return hn::Add(a, b); }

float reduce(RowOp op, const float* x, int64_t n, float shift) {
  const V zero = hn::Zero(F()), s = splat(shift);
  switch (op) {
    case RowOp::kSum: return sum_lanes(fold(x, n, zero, ADD, ADD));
    case RowOp::kMax:
      return over_lanes(fold(
                            x, n, splat(-kInf), [](V a, V b) HWY_ATTR { return keep_nan_max(a, b); },
                            [](V a, V b) HWY_ATTR { return keep_nan_max(a, b); }),
                        max_keep);
    case RowOp::kMin:
      return over_lanes(fold(
                            x, n, splat(kInf), [](V a, V b) HWY_ATTR { return keep_nan_min(a, b); },
                            [](V a, V b) HWY_ATTR { return keep_nan_min(a, b); }),
                        min_keep);
    case RowOp::kProd:
      return over_lanes(fold(
                            x, n, splat(1), [](V a, V b) HWY_ATTR { return hn::Mul(a, b); },
                            [](V a, V b) HWY_ATTR { return hn::Mul(a, b); }),
                        [](float a, float b) { return a * b; });
    case RowOp::kSumAbs:
      return sum_lanes(fold(
          x, n, zero, [](V a, V b) HWY_ATTR { return hn::Add(a, hn::Abs(b)); }, ADD));
    case RowOp::kSumSquares:
      return sum_lanes(fold(
          x, n, zero, [](V a, V b) HWY_ATTR { return hn::MulAdd(b, b, a); }, ADD));
    case RowOp::kSumExp:
      return sum_lanes(fold(
          x, n, zero, [s](V a, V b) HWY_ATTR { return hn::Add(a, vexp_normal(hn::Sub(b, s))); }, ADD));
  }
  return 0;
}

float max(const float* x, int64_t n) {
  return over_lanes(fold(
                        x, n, splat(-kInf), [](V a, V b) HWY_ATTR { return hn::Max(a, b); },
                        [](V a, V b) HWY_ATTR { return hn::Max(a, b); }),
                    [](float a, float b) { return a > b ? a : b; });
}

float sum_centered(const float* x, int64_t n, float mean) {
  const V m = splat(mean);
  return sum_lanes(fold(
      x, n, hn::Zero(F()),
      [m](V a, V b) HWY_ATTR {
        const V d = hn::Sub(b, m);
        return hn::MulAdd(d, d, a);
      },
      ADD));
}

void accumulate(RowOp op, float* acc, const float* x, const float* shift, int64_t n) {
  switch (op) {
    case RowOp::kSum: return map2(acc, x, acc, n, ADD);
    case RowOp::kMax: return map2(acc, x, acc, n, [](V a, V b) HWY_ATTR { return keep_nan_max(a, b); });
    case RowOp::kMin: return map2(acc, x, acc, n, [](V a, V b) HWY_ATTR { return keep_nan_min(a, b); });
    case RowOp::kProd: return map2(acc, x, acc, n, [](V a, V b) HWY_ATTR { return hn::Mul(a, b); });
    case RowOp::kSumAbs: return map2(acc, x, acc, n, [](V a, V b) HWY_ATTR { return hn::Add(a, hn::Abs(b)); });
    case RowOp::kSumSquares: return map2(acc, x, acc, n, [](V a, V b) HWY_ATTR { return hn::MulAdd(b, b, a); });
    case RowOp::kSumExp:
      return map3(acc, x, shift, acc, n, [](V a, V b, V s) HWY_ATTR { return hn::Add(a, vexp_normal(hn::Sub(b, s))); });
  }
}

float exp_row(float* dst, const float* x, int64_t n, float shift) {
  const V s = splat(shift);
  const auto lanes = static_cast<int64_t>(hn::Lanes(F()));
  V a0 = hn::Zero(F()), a1 = a0;
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const V e0 = vexp_normal(hn::Sub(hn::LoadU(F(), x + i), s)),
            e1 = vexp_normal(hn::Sub(hn::LoadU(F(), x + i + lanes), s));
    hn::StoreU(e0, F(), dst + i);
    hn::StoreU(e1, F(), dst + i + lanes);
    a0 = hn::Add(a0, e0);
    a1 = hn::Add(a1, e1);
  }
  for (; i + lanes <= n; i += lanes) {
    const V e = vexp_normal(hn::Sub(hn::LoadU(F(), x + i), s));
    hn::StoreU(e, F(), dst + i);
    a0 = hn::Add(a0, e);
  }
  if (i < n) {
    const V e = vexp_normal(hn::Sub(load_tail(x + i, n - i), s));
    store_tail(e, dst + i, n - i);
    a1 = hn::Add(a1, hn::IfThenElseZero(hn::FirstN(F(), static_cast<size_t>(n - i)), e));
  }
  return sum_lanes(hn::Add(a0, a1));
}

void exp_columns(float* dst, float* sum, const float* x, const float* shift, int64_t n) {
  if (dst == nullptr) return accumulate(RowOp::kSumExp, sum, x, shift, n);
  map2(x, shift, dst, n, [](V a, V s) HWY_ATTR { return vexp_normal(hn::Sub(a, s)); });
  map2(sum, dst, sum, n, ADD);
}

void scale(float* dst, const float* x, int64_t n, float factor) {
  const V f = splat(factor);
  map1(x, dst, n, [f](V a) HWY_ATTR { return hn::Mul(a, f); });
}
void add(float* dst, const float* x, int64_t n, float term) {
  const V t = splat(term);
  map1(x, dst, n, [t](V a) HWY_ATTR { return hn::Add(a, t); });
}
void scale_columns(float* dst, const float* x, const float* factor, int64_t n) {
  map2(x, factor, dst, n, [](V a, V f) HWY_ATTR { return hn::Mul(a, f); });
}
void sub_columns(float* dst, const float* x, const float* term, int64_t n) {
  map2(x, term, dst, n, [](V a, V t) HWY_ATTR { return hn::Sub(a, t); });
}

void normalize(float* dst, const float* x, int64_t n, float mean, float factor, const float* scale, const float* bias) {
  const V m = splat(mean), f = splat(factor);
  if (scale == nullptr && bias == nullptr)
    return map1(x, dst, n, [=](V a) HWY_ATTR { return hn::Mul(hn::Sub(a, m), f); });
  if (bias == nullptr)
    return map2(x, scale, dst, n, [=](V a, V s) HWY_ATTR { return hn::Mul(hn::Mul(hn::Sub(a, m), f), s); });
  if (scale == nullptr)
    return map2(x, bias, dst, n, [=](V a, V b) HWY_ATTR { return hn::MulAdd(hn::Sub(a, m), f, b); });
  map3(x, scale, bias, dst, n, [=](V a, V s, V b) HWY_ATTR { return hn::MulAdd(hn::Mul(hn::Sub(a, m), f), s, b); });
}
void affine(float* dst, const float* x, int64_t n, float mean, float factor, float bias) {
  const V m = splat(mean), f = splat(factor), b = splat(bias);
  map1(x, dst, n, [=](V a) HWY_ATTR { return hn::MulAdd(hn::Sub(a, m), f, b); });
}

float max_abs(const float* x, int64_t n) {
  return over_lanes(fold(
                        x, n, hn::Zero(F()), [](V a, V b) HWY_ATTR { return keep_nan_max(a, hn::Abs(b)); },
                        [](V a, V b) HWY_ATTR { return keep_nan_max(a, b); }),
                    max_keep);
}

// By the reciprocal, and once more what that leaves: as good as a division, and several times as fast.
HWY_INLINE V quotient(V a, V s, V inverse) {
  const V q = hn::Mul(a, inverse);
  return hn::MulAdd(hn::NegMulAdd(q, s, a), inverse, q);
}
void quantize(int8_t* dst, const float* x, int64_t n, float scale) {
  const V s = splat(scale), inverse = splat(1 / scale);
  map1(x, dst, n, [=](V a) HWY_ATTR { return quotient(a, s, inverse); });
}
void quantize_from(uint8_t* dst, const float* x, int64_t n, float scale, float zero) {
  const V s = splat(scale), inverse = splat(1 / scale), z = splat(zero);
  map1(x, dst, n, [=](V a) HWY_ATTR { return hn::Add(hn::Round(quotient(a, s, inverse)), z); });
}

}  // namespace

const RowOps& rows() {
  static constexpr RowOps kOps{reduce,      max,    sum_centered, accumulate,    exp_row,
                               exp_columns, scale,  add,          scale_columns, sub_columns,
                               normalize,   affine, max_abs,      quantize,      quantize_from};
  return kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
const RowOps& row_ops(Isa isa) { return WOOTZ_BY_ISA(isa, rows()); }
}  // namespace wootz::cpu
#endif
