// Conversions of the engine with vector instructions.
#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/pointwise/ops_convert.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/pointwise/loop_inl.h"
#include "backends/cpu/pointwise/ops.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class From, class To>
void convert(const OpArgs& p) {
  map1(static_cast<const From*>(p.a), static_cast<To*>(p.dst), p.n, [](V x) HWY_ATTR { return x; });
}

// saturate(round_half_even(a / b) + c); NaN gives 0 before saturation.
template <class To>
void quantize(const OpArgs& p) {
  const V low = splat(std::is_signed_v<To> ? -128.0f : 0.0f), high = splat(std::is_signed_v<To> ? 127.0f : 255.0f);
  map3(static_cast<const float*>(p.a), static_cast<const float*>(p.b), static_cast<const float*>(p.c),
       static_cast<To*>(p.dst), p.n, [&](V a, V b, V c) HWY_ATTR {
         const V q = hn::Add(hn::Round(hn::Div(a, b)), c);
         const V known = hn::IfThenElseZero(hn::Eq(q, q), q);
         return hn::Min(hn::Max(known, low), high);
       });
}

// The same by one scale and zero point. Limits less the zero point are whole as well, so that the quotient may be cut
// before it is rounded, and the zero point added after it.
template <class To>
struct Grid {
  V scale, low, high, of_nan;
  hn::Vec<hn::Repartition<int16_t, F>> zero;

  HWY_INLINE void set(float s, float z) {
    scale = splat(s);
    low = splat((std::is_signed_v<To> ? -128.0f : 0.0f) - z);
    high = splat((std::is_signed_v<To> ? 127.0f : 255.0f) - z);
    of_nan = splat(-z);
    zero = hn::Set(hn::Repartition<int16_t, F>(), static_cast<int16_t>(z));
  }
  HWY_INLINE V quotient(V x) const {
    const V q = hn::Div(x, scale);
    return hn::Min(hn::Max(hn::IfThenElse(hn::Eq(q, q), q, of_nan), low), high);
  }
  // Four vectors as one of bytes. The instructions that narrow take turns between their operands by 128 bits, so that
  // one permutation at the end puts all in order.
  HWY_INLINE void store(V v0, V v1, V v2, V v3, To* p) const {
#if HWY_TARGET == HWY_AVX3
    const __m512i a = _mm512_packs_epi32(_mm512_cvtps_epi32(v0.raw), _mm512_cvtps_epi32(v1.raw));
    const __m512i b = _mm512_packs_epi32(_mm512_cvtps_epi32(v2.raw), _mm512_cvtps_epi32(v3.raw));
    const __m512i c = _mm512_add_epi16(a, zero.raw), d = _mm512_add_epi16(b, zero.raw);
    const __m512i bytes = std::is_signed_v<To> ? _mm512_packs_epi16(c, d) : _mm512_packus_epi16(c, d);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(p, _mm512_permutexvar_epi32(order, bytes));
#else
    const __m256i a = _mm256_packs_epi32(_mm256_cvtps_epi32(v0.raw), _mm256_cvtps_epi32(v1.raw));
    const __m256i b = _mm256_packs_epi32(_mm256_cvtps_epi32(v2.raw), _mm256_cvtps_epi32(v3.raw));
    const __m256i c = _mm256_add_epi16(a, zero.raw), d = _mm256_add_epi16(b, zero.raw);
    const __m256i bytes = std::is_signed_v<To> ? _mm256_packs_epi16(c, d) : _mm256_packus_epi16(c, d);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permutevar8x32_epi32(bytes, order));
#endif
  }
};

template <class To>
void quantize_by(const OpArgs& p) {
  Grid<To> grid;
  grid.set(static_cast<float>(p.imm0), static_cast<float>(p.imm1));
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  const auto* x = static_cast<const float*>(p.a);
  auto* y = static_cast<To*>(p.dst);
  const auto four = [&](const float* from, To* to) HWY_ATTR {
    grid.store(grid.quotient(load_lanes(from)), grid.quotient(load_lanes(from + kLanes)),
               grid.quotient(load_lanes(from + 2 * kLanes)), grid.quotient(load_lanes(from + 3 * kLanes)), to);
  };
  int64_t i = 0;
  for (; i + 4 * kLanes <= p.n; i += 4 * kLanes) four(x + i, y + i);
  if (i == p.n) return;
  alignas(64) float rest[4 * kLanes] = {};
  alignas(64) To found[4 * kLanes];
  std::memcpy(rest, x + i, static_cast<size_t>(p.n - i) * sizeof(float));
  four(rest, found);
  std::memcpy(y + i, found, static_cast<size_t>(p.n - i));
}

}  // namespace

OpFn vector_convert(DType from, DType to, bool saturate) {
  (void)saturate;  // these never leave the type
  if (to != DType::kF32) return nullptr;
  switch (from) {
    case DType::kU8:
    case DType::kBool: return convert<uint8_t, float>;
    case DType::kI8: return convert<int8_t, float>;
    case DType::kI32: return convert<int32_t, float>;
    default: return nullptr;
  }
}
OpFn vector_widen(DType stored) {
  return stored == DType::kF16 ? convert<F16Bits, float> : stored == DType::kBF16 ? convert<Bf16Bits, float> : nullptr;
}
OpFn vector_narrow(DType stored) {
  return stored == DType::kF16 ? convert<float, F16Bits> : stored == DType::kBF16 ? convert<float, Bf16Bits> : nullptr;
}
OpFn vector_quantize(DType to) {
  return to == DType::kU8 ? quantize<uint8_t> : to == DType::kI8 ? quantize<int8_t> : nullptr;
}
OpFn vector_quantize_by(DType to) {
  return to == DType::kU8 ? quantize_by<uint8_t> : to == DType::kI8 ? quantize_by<int8_t> : nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
OpFn find_vector_convert(Isa isa, DType from, DType to, bool s) {
  return WOOTZ_BY_ISA(isa, vector_convert(from, to, s));
}
OpFn find_vector_widen(Isa isa, DType stored) { return WOOTZ_BY_ISA(isa, vector_widen(stored)); }
OpFn find_vector_narrow(Isa isa, DType stored) { return WOOTZ_BY_ISA(isa, vector_narrow(stored)); }
OpFn find_vector_quantize(Isa isa, DType to) { return WOOTZ_BY_ISA(isa, vector_quantize(to)); }
OpFn find_vector_quantize_by(Isa isa, DType to) { return WOOTZ_BY_ISA(isa, vector_quantize_by(to)); }
}  // namespace wootz::cpu
#endif
