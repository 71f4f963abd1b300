// From sums of int32, or of f32, to results, for each target: see QuadsEnd.
#if defined(WOOTZ_QUADS_END_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WOOTZ_QUADS_END_INL_H
#undef WOOTZ_QUADS_END_INL_H
#else
#define WOOTZ_QUADS_END_INL_H
#endif

#include "backends/cpu/dense/quads_end.h"
#include "backends/cpu/pointwise/loop_inl.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace quads {

constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));

// A row's results in one panel.
struct Results {
  V v[2];
};

// kWhole: both vectors lie within the columns.
template <bool kWhole, class T>
HWY_INLINE V load(const T* p, int64_t n) {
  return kWhole || n >= kLanes ? load_lanes(p) : load_tail(p, n < 0 ? 0 : n);
}

template <bool kWhole, class T>
HWY_INLINE void add(const SumsEnd& s, const T* from, int64_t columns, Results& r) {
  const V alpha = splat(s.alpha), beta = splat(s.beta);
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i)
    r.v[i] = hn::MulAdd(load<kWhole>(from + i * kLanes, columns - i * kLanes), alpha, hn::Add(r.v[i], beta));
}
template <bool kWhole>
HWY_INLINE void add(const SumsEnd& s, const void* base, int64_t at, int64_t columns, Results& r) {
  switch (s.type) {
    case SumsEnd::Type::kF32: return add<kWhole>(s, static_cast<const float*>(base) + at, columns, r);
    case SumsEnd::Type::kBf16: return add<kWhole>(s, static_cast<const Bf16Bits*>(base) + at, columns, r);
    case SumsEnd::Type::kU8: return add<kWhole>(s, static_cast<const uint8_t*>(base) + at, columns, r);
    case SumsEnd::Type::kI8: return add<kWhole>(s, static_cast<const int8_t*>(base) + at, columns, r);
  }
}

// The second operand is kept when it is NaN.
HWY_INLINE V clip(V x, float low, float high) { return hn::Min(splat(high), hn::Max(splat(low), x)); }

// See kFineGelu: results are bytes. NaN stays NaN.
HWY_INLINE V fine_gelu(V x) {
  const V c = clip(x, -5, 5);
  const V t = hn::MulSub(hn::Mul(c, c), splat(0.08f), splat(1));
  V p = splat(kFineGelu[0]);
#pragma GCC unroll 16
  for (int i = 1; i < 13; ++i) p = hn::MulAdd(p, t, splat(kFineGelu[i]));
  return hn::Mul(x, hn::MulAdd(c, p, splat(0.5f)));
}

HWY_INLINE V activate(const SumsEnd& s, V x) {
  switch (s.activation) {
    case Activation::kNone: break;
    case Activation::kSilu: return hn::Mul(x, vsigmoid(hn::Mul(x, splat(s.alpha))));
    case Activation::kSigmoid: return vsigmoid(x);
    case Activation::kGeluErf: return fine_gelu(x);
    case Activation::kGeluTanh: return vgelu_tanh(x);
    case Activation::kHardSigmoid: return clip(hn::MulAdd(x, splat(s.alpha), splat(s.beta)), 0, 1);
    case Activation::kHardSwish: return hn::Mul(x, clip(hn::MulAdd(x, splat(s.alpha), splat(s.beta)), 0, 1));
  }
  return x;
}

template <bool kWhole>
HWY_INLINE void apply(const QuadsEnd& e, const SumsEnd& s, int64_t at, Results& r) {
  if (s.kind == SumsEnd::Kind::kAdd) return add<kWhole>(s, e.inputs[s.input], e.first + at, e.columns, r);
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    V& x = r.v[i];
    switch (s.kind) {
      case SumsEnd::Kind::kLinear: x = hn::MulAdd(x, splat(s.alpha), splat(s.beta)); break;
      case SumsEnd::Kind::kClip: x = clip(x, s.alpha, s.beta); break;
      case SumsEnd::Kind::kRound: x = hn::Round(x); break;
      case SumsEnd::Kind::kActivation: x = activate(s, x); break;
      case SumsEnd::Kind::kAdd: break;
    }
  }
}

// Halves to even. NaN becomes 0, but only where it may be there.
HWY_INLINE hn::Vec<I> integers(const QuadsEnd& e, V x) {
  if (e.guarded) x = clip(hn::IfThenElseZero(hn::Eq(x, x), x), -65536, 65536);
#if HWY_TARGET == HWY_AVX3
  const hn::Vec<I> whole{_mm512_cvtps_epi32(x.raw)};
#else
  const hn::Vec<I> whole{_mm256_cvtps_epi32(x.raw)};
#endif
  return hn::Add(whole, hn::Set(I(), e.zero));
}

template <bool kWhole, class T>
HWY_INLINE void store_bytes(const QuadsEnd& e, const Results& r, T* to) {
  const hn::Rebind<T, F> d8;
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const int64_t n = e.columns - i * kLanes;
    const auto bytes = hn::DemoteTo(d8, integers(e, r.v[i]));
    if (kWhole || n >= kLanes) {
      hn::StoreU(bytes, d8, to + i * kLanes);
    } else if (n > 0) {
      T last[kLanes];
      hn::StoreU(bytes, d8, last);
      std::memcpy(to + i * kLanes, last, static_cast<size_t>(n));
    }
  }
}
template <bool kWhole>
HWY_INLINE void store_floats(const QuadsEnd& e, const Results& r, float* to) {
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const int64_t n = e.columns - i * kLanes;
    if (kWhole || n >= kLanes)
      store_lanes(r.v[i], to + i * kLanes);
    else if (n > 0)
      store_tail(r.v[i], to + i * kLanes, n);
  }
}

HWY_INLINE const int32_t* sums_of(const QuadsEnd& e, int32_t) { return e.sums; }
HWY_INLINE const float* sums_of(const QuadsEnd& e, float) { return e.float_sums; }

template <class Sum, bool kWhole, SumsEnd::Type kType>
HWY_INLINE void finish_panel(const QuadsEnd& unit, int64_t rows) {
  const QuadsEnd e = unit;  // nothing else points to a copy
  const Sum* const sums = sums_of(e, Sum());
  const V scale[2] = {load_lanes(e.scale), load_lanes(e.scale + kLanes)};
  const V bias[2] = {load_lanes(e.bias), load_lanes(e.bias + kLanes)};
  for (int64_t row = 0; row < rows; ++row) {
    const V by = splat(e.row_scales == nullptr ? 1.0F : e.row_scales[row]);
    Results r;
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i)
      r.v[i] = hn::MulAdd(load_lanes(sums + row * e.stride + i * kLanes), hn::Mul(scale[i], by), bias[i]);
    const int64_t at = row * e.out_stride;
    for (int k = 0; k < e.num_ends; ++k) apply<kWhole>(e, e.ends[k], at, r);
    if constexpr (kType == SumsEnd::Type::kU8)
      store_bytes<kWhole>(e, r, reinterpret_cast<uint8_t*>(e.out) + at);
    else if constexpr (kType == SumsEnd::Type::kI8)
      store_bytes<kWhole>(e, r, reinterpret_cast<int8_t*>(e.out) + at);
    else
      store_floats<kWhole>(e, r, reinterpret_cast<float*>(e.out) + at);
  }
}

template <class Sum, SumsEnd::Type kType>
HWY_INLINE void finish_type(const QuadsEnd& e, int64_t rows) {
  return e.columns >= 2 * kLanes ? finish_panel<Sum, true, kType>(e, rows) : finish_panel<Sum, false, kType>(e, rows);
}

}  // namespace quads

template <class Sum = int32_t>
HWY_INLINE void finish_rows(const QuadsEnd& e, int64_t rows) {
  switch (e.type) {
    case SumsEnd::Type::kU8: return quads::finish_type<Sum, SumsEnd::Type::kU8>(e, rows);
    case SumsEnd::Type::kI8: return quads::finish_type<Sum, SumsEnd::Type::kI8>(e, rows);
    case SumsEnd::Type::kF32: return quads::finish_type<Sum, SumsEnd::Type::kF32>(e, rows);
    case SumsEnd::Type::kBf16: break;  // not offered
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#endif  // WOOTZ_QUADS_END_INL_H
