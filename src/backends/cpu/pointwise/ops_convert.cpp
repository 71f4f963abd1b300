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
         const V known = hn::IfThenElse(hn::IsNaN(q), hn::Zero(F()), q);
         return hn::Min(hn::Max(known, low), high);
       });
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
}  // namespace wootz::cpu
#endif
