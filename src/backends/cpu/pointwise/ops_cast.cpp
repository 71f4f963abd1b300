// Conversions of the engine between all register types, the narrow floats, and quantization, by plain loops.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "backends/cpu/pointwise/ops.h"
#include "backends/cpu/pointwise/register_types.h"
#include "base/half.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")  // plain loops: let the compiler make vectors of them
#endif

namespace wootz::cpu {
namespace {

// Toward zero; the nearest 64-bit value where it is out of range, 0 for NaN.
uint64_t truncate(double value, bool to_u64) {
  if (std::isnan(value)) return 0;
  if (to_u64 && value >= 0x1p63) return value >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(value);
  if (value >= 0x1p63) return INT64_MAX;
  return static_cast<uint64_t>(value <= -0x1p63 ? INT64_MIN : static_cast<int64_t>(value));
}

template <class To>
To saturate_double(double v) {
  constexpr double low = static_cast<double>(std::numeric_limits<To>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<To>::max());  // rounds up for 64 bits
  if (std::isnan(v)) return 0;
  if (v <= low) return std::numeric_limits<To>::min();
  return v >= high ? std::numeric_limits<To>::max() : static_cast<To>(v);
}

template <class From, class To, bool kSaturate>
To cast(From x) {
  if constexpr (std::is_floating_point_v<To>) {
    if constexpr (kSaturate && std::is_floating_point_v<From> && sizeof(To) < sizeof(From)) {
      constexpr From limit = static_cast<From>(std::numeric_limits<To>::max());
      return static_cast<To>(std::isnan(x) ? x : std::clamp(x, -limit, limit));
    } else if constexpr (kSaturate && std::is_floating_point_v<From>) {
      constexpr To limit = std::numeric_limits<To>::max();
      return std::isnan(x) ? static_cast<To>(x) : std::clamp(static_cast<To>(x), -limit, limit);
    } else {
      return static_cast<To>(x);
    }
  } else if constexpr (std::is_floating_point_v<From>) {
    if constexpr (kSaturate)
      return saturate_double<To>(static_cast<double>(x));
    else
      return static_cast<To>(truncate(static_cast<double>(x), std::is_same_v<To, uint64_t>));
  } else if constexpr (kSaturate) {
    if (std::cmp_less(x, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (std::cmp_greater(x, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To, bool kSaturate>
void convert(const OpArgs& p) {
  const auto* a = static_cast<const From*>(p.a);
  auto* dst = static_cast<To*>(p.dst);
  for (int64_t i = 0; i < p.n; ++i) dst[i] = cast<From, To, kSaturate>(a[i]);
}
template <class From>
void to_bool(const OpArgs& p) {
  for (int64_t i = 0; i < p.n; ++i) static_cast<uint8_t*>(p.dst)[i] = static_cast<const From*>(p.a)[i] != 0;
}

template <DType kType>
void widen(const OpArgs& p) {
  const auto* h = static_cast<const uint16_t*>(p.a);
  const auto* q = static_cast<const uint8_t*>(p.a);
  auto* dst = static_cast<float*>(p.dst);
  for (int64_t i = 0; i < p.n; ++i) {
    if constexpr (kType == DType::kF16)
      dst[i] = f16_to_f32(h[i]);
    else if constexpr (kType == DType::kBF16)
      dst[i] = bf16_to_f32(h[i]);
    else
      dst[i] = small_float_to_f32(kType, q[i]);
  }
}
template <DType kType, bool kSaturate>
void narrow(const OpArgs& p) {
  const auto* a = static_cast<const float*>(p.a);
  auto* h = static_cast<uint16_t*>(p.dst);
  auto* q = static_cast<uint8_t*>(p.dst);
  for (int64_t i = 0; i < p.n; ++i) {
    if constexpr (kType == DType::kF16)
      h[i] = f32_to_f16(a[i]);
    else if constexpr (kType == DType::kBF16)
      h[i] = f32_to_bf16(a[i]);
    else
      q[i] = f32_to_small_float(kType, a[i], kSaturate);
  }
}

void store_f8e5m2(const OpArgs& p) {
  const auto* a = static_cast<const float*>(p.a);
  for (int64_t i = 0; i < p.n; ++i)
    static_cast<uint8_t*>(p.dst)[i] = f32_to_small_float(DType::kF8E5M2, a[i], !std::isinf(a[i]));
}

template <class From, class To>
void quantize(const OpArgs& p) {
  const auto *a = static_cast<const From*>(p.a), *b = static_cast<const From*>(p.b), *c = static_cast<const From*>(p.c);
  for (int64_t i = 0; i < p.n; ++i) {
    const From q = a[i] / b[i];
    static_cast<To*>(p.dst)[i] =
        saturate_double<To>(static_cast<double>(std::nearbyint(q)) + static_cast<double>(c[i]));
  }
}

}  // namespace

OpFn find_convert(Isa isa, DType from, DType to, bool saturate) {
  if (const OpFn fn = find_vector_convert(isa, from, to, saturate)) return fn;
  if (to == DType::kBool) return with_type(from, [](auto f) -> OpFn { return to_bool<decltype(f)>; });
  return with_type(from, [&](auto f) {
    return with_type(to, [&](auto t) -> OpFn {
      return saturate ? convert<decltype(f), decltype(t), true> : convert<decltype(f), decltype(t), false>;
    });
  });
}

OpFn find_widen(Isa isa, DType stored) {
  if (const OpFn fn = find_vector_widen(isa, stored)) return fn;
  switch (stored) {
    case DType::kF8E4M3: return widen<DType::kF8E4M3>;
    case DType::kF8E4M3Fnuz: return widen<DType::kF8E4M3Fnuz>;
    case DType::kF8E5M2: return widen<DType::kF8E5M2>;
    case DType::kF8E5M2Fnuz: return widen<DType::kF8E5M2Fnuz>;
    case DType::kF8E8M0: return widen<DType::kF8E8M0>;
    default: return nullptr;
  }
}

OpFn find_store(Isa isa, DType stored) {
  return stored == DType::kF8E5M2 ? OpFn(store_f8e5m2) : find_narrow(isa, stored, true);
}

OpFn find_narrow(Isa isa, DType stored, bool saturate) {
  if (const OpFn fn = find_vector_narrow(isa, stored)) return fn;
  switch (stored) {
    case DType::kF8E4M3: return saturate ? narrow<DType::kF8E4M3, true> : narrow<DType::kF8E4M3, false>;
    case DType::kF8E4M3Fnuz: return saturate ? narrow<DType::kF8E4M3Fnuz, true> : narrow<DType::kF8E4M3Fnuz, false>;
    case DType::kF8E5M2: return saturate ? narrow<DType::kF8E5M2, true> : narrow<DType::kF8E5M2, false>;
    case DType::kF8E5M2Fnuz: return saturate ? narrow<DType::kF8E5M2Fnuz, true> : narrow<DType::kF8E5M2Fnuz, false>;
    case DType::kF8E8M0: return saturate ? narrow<DType::kF8E8M0, true> : narrow<DType::kF8E8M0, false>;
    default: return nullptr;
  }
}

OpFn find_quantize(Isa isa, DType from, DType to) {
  if (from == DType::kF32)
    if (const OpFn fn = find_vector_quantize(isa, to)) return fn;
  if (from != DType::kF32 && from != DType::kF64) return nullptr;
  return with_type(to, [&](auto t) -> OpFn {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T>) {
      return from == DType::kF32 ? OpFn(quantize<float, T>) : OpFn(quantize<double, T>);
    } else {
      return nullptr;
    }
  });
}

}  // namespace wootz::cpu
