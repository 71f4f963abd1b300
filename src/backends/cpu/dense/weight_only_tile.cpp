#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/dense/weight_only_tile.cpp"
#include "hwy/foreach_target.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "backends/cpu/dense/weight_only_tile.h"
#include "backends/cpu/simd/math_inl.h"
#include "base/half.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

using U = hn::RebindToUnsigned<F>;
constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr int64_t kAhead = 2048;  // bytes: the next lines of a panel are on their way while these are computed

// A vector of columns of a group: `element(k)` are the weights of its element k.
template <DType kType>
struct FourBits {
  static constexpr bool kSigned = kType == DType::kI4;
  static constexpr int64_t kGroupBytes = kNarrowPanel * kNarrowGroup / 2;
  hn::Vec<U> bits;

  HWY_INLINE FourBits(const uint8_t* group, int64_t column)
      : bits(hn::LoadU(U(), reinterpret_cast<const uint32_t*>(group) + column)) {}

#if HWY_TARGET == HWY_AVX3
  // The lowest four bits of a lane look up its number; what is above them, the instruction does not see.
  static HWY_INLINE V table() {
    alignas(64) static constexpr float kSignedValues[16] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
    alignas(64) static constexpr float kValues[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    alignas(64) static constexpr float kFloats[16] = {0,     0.5F,  1,  1.5F,  2,  3,  4,  6,
                                                      -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
    return hn::Load(F(), kType == DType::kF4E2M1 ? kFloats : kSigned ? kSignedValues : kValues);
  }
  template <int kElement>
  HWY_INLINE V element(V values) const {
    return V{_mm512_permutexvar_ps(hn::ShiftRight<4 * kElement>(bits).raw, values.raw)};
  }
#else
  // The sizes of E2M1, which the lowest three bits of a lane look up; the fourth is the sign.
  static HWY_INLINE V table() {
    alignas(32) static constexpr float kSizes[8] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    return hn::Load(F(), kSizes);
  }
  template <int kElement>
  HWY_INLINE V element(V sizes) const {
    const auto top = hn::ShiftLeft<28 - 4 * kElement>(bits);
    if constexpr (kType == DType::kF4E2M1) {
      const V size{_mm256_permutevar8x32_ps(sizes.raw, hn::ShiftRight<4 * kElement>(bits).raw)};
      return hn::Xor(size, hn::And(hn::BitCast(F(), top), hn::SignBit(F())));
    }
    if constexpr (kSigned)
      return hn::ConvertTo(F(), hn::ShiftRight<28>(hn::BitCast(I(), top)));
    else
      return hn::ConvertTo(F(), hn::BitCast(I(), hn::ShiftRight<28>(top)));
  }
#endif
};

template <bool kSigned>
struct EightBits {
  static constexpr int64_t kGroupBytes = kNarrowPanel * kNarrowGroup;
  using Byte = std::conditional_t<kSigned, int8_t, uint8_t>;
  const Byte* from;

  HWY_INLINE EightBits(const uint8_t* group, int64_t column) : from(reinterpret_cast<const Byte*>(group) + column) {}
  static HWY_INLINE V table() { return hn::Zero(F()); }
  template <int kElement>
  HWY_INLINE V element(V) const {
    return hn::ConvertTo(F(), hn::PromoteTo(I(), hn::LoadU(hn::Rebind<Byte, F>(), from + kElement * kNarrowPanel)));
  }
};

// E4M3 as f16 of the same bits, which is 2^-8 of the value.
HWY_INLINE V e4m3_by_256(const uint8_t* from) {
  const hn::Rebind<int16_t, F> halves;
  const auto codes = hn::LoadU(hn::Rebind<int8_t, F>(), reinterpret_cast<const int8_t*>(from));
  const auto bits =
      hn::And(hn::ShiftLeft<7>(hn::PromoteTo(halves, codes)), hn::Set(halves, static_cast<int16_t>(0xbf80)));
  return hn::PromoteTo(F(), hn::BitCast(hn::Rebind<hwy::float16_t, F>(), bits));
}

// Powers of two; the least is below the normal numbers.
HWY_INLINE V e8m0(const uint8_t* from) {
  const auto codes = hn::PromoteTo(U(), hn::LoadU(hn::Rebind<uint8_t, F>(), from));
  return hn::BitCast(F(), hn::Max(hn::ShiftLeft<23>(codes), hn::Set(U(), 0x400000U)));
}

HWY_INLINE V scales_at(const NarrowGrid& grid, int64_t at) {
  if (grid.kind == NarrowScale::kF32) return hn::LoadU(F(), static_cast<const float*>(grid.scale) + at);
  const auto* const from = static_cast<const uint8_t*>(grid.scale) + at;
  return hn::Mul(grid.kind == NarrowScale::kE4M3 ? e4m3_by_256(from) : e8m0(from), hn::Set(F(), grid.factor));
}

// E4M3 and E5M2 as f16 of the same bits. That of E4M3 is 2^-8 of the value, for which the scales stand.
template <DType kType>
struct EightBitFloats {
  static constexpr int64_t kGroupBytes = kNarrowPanel * kNarrowGroup;
  const int8_t* from;

  HWY_INLINE EightBitFloats(const uint8_t* group, int64_t column)
      : from(reinterpret_cast<const int8_t*>(group) + column) {}
  static HWY_INLINE V table() { return hn::Zero(F()); }
  template <int kElement>
  HWY_INLINE V element(V) const {
    const int8_t* const codes = from + kElement * kNarrowPanel;
    if constexpr (kType == DType::kF8E4M3) return e4m3_by_256(reinterpret_cast<const uint8_t*>(codes));
    const auto bits =
        hn::ShiftLeft<8>(hn::PromoteTo(hn::Rebind<int16_t, F>(), hn::LoadU(hn::Rebind<int8_t, F>(), codes)));
    return hn::PromoteTo(F(), hn::BitCast(hn::Rebind<hwy::float16_t, F>(), bits));
  }
};

template <bool kSigned>
HWY_INLINE V zero_points(const uint8_t* zero) {
  using Byte = std::conditional_t<kSigned, int8_t, uint8_t>;
  return hn::ConvertTo(F(), hn::PromoteTo(I(), hn::LoadU(hn::Rebind<Byte, F>(), reinterpret_cast<const Byte*>(zero))));
}

// One group: sums of kM rows by kV vectors of columns. With few sums there are two of each, so that additions do not
// wait for one another.
template <class W, int kM, int kV, int kParts, int kElement>
HWY_INLINE void add_element(const W* w, V table, const float* const* x, V (&acc)[kM][kV][kParts]) {
  V values[kV];
#pragma GCC unroll 4
  for (int v = 0; v < kV; ++v) values[v] = w[v].template element<kElement>(table);
#pragma GCC unroll 8
  for (int i = 0; i < kM; ++i) {
    const V each = hn::Set(F(), x[i][kElement]);
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v)
      acc[i][v][kElement % kParts] = hn::MulAdd(each, values[v], acc[i][v][kElement % kParts]);
  }
}

template <class W, bool kSigned, int kM, int kV>
HWY_INLINE void some_rows(const NarrowRows& t, int64_t row, int64_t column) {
  constexpr int kParts = kM * kV >= 8 ? 1 : kM * kV >= 4 ? 2 : 4;
  const V table = W::table();
  const uint8_t* group = t.weights;
  const float* x[kM];
#pragma GCC unroll 8
  for (int i = 0; i < kM; ++i) x[i] = t.x + (row + i) * t.x_stride;
  for (int64_t first = 0, block = 0; first < t.depth; first += t.grid.block, ++block) {
    V acc[kM][kV][kParts];
#pragma GCC unroll 8
    for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < kV; ++v)
#pragma GCC unroll 4
        for (int p = 0; p < kParts; ++p) acc[i][v][p] = hn::Zero(F());
    const int64_t groups = std::min(t.grid.block, t.depth - first) / kNarrowGroup;
    for (int64_t g = 0; g < groups; ++g, group += W::kGroupBytes) {
      for (int64_t line = 0; line < W::kGroupBytes; line += 64) hwy::Prefetch(group + kAhead + line);
      const auto w = [&]<size_t... kAt>(std::index_sequence<kAt...>) HWY_ATTR {
        return std::array<W, kV>{W(group, column + static_cast<int64_t>(kAt) * kLanes)...};
      }
      (std::make_index_sequence<kV>());
      add_element<W, kM, kV, kParts, 0>(w.data(), table, x, acc);
      add_element<W, kM, kV, kParts, 1>(w.data(), table, x, acc);
      add_element<W, kM, kV, kParts, 2>(w.data(), table, x, acc);
      add_element<W, kM, kV, kParts, 3>(w.data(), table, x, acc);
      add_element<W, kM, kV, kParts, 4>(w.data(), table, x, acc);
      add_element<W, kM, kV, kParts, 5>(w.data(), table, x, acc);
      add_element<W, kM, kV, kParts, 6>(w.data(), table, x, acc);
      add_element<W, kM, kV, kParts, 7>(w.data(), table, x, acc);
#pragma GCC unroll 8
      for (int i = 0; i < kM; ++i) x[i] += kNarrowGroup;
    }
#pragma GCC unroll 4
    for (int v = 0; v < kV; ++v) {
      const int64_t at = block * t.grid.stride + column + v * kLanes;
      const V scale = scales_at(t.grid, at);
      const V zero = t.grid.zero == nullptr ? hn::Zero(F()) : zero_points<kSigned>(t.grid.zero + at);
#pragma GCC unroll 8
      for (int i = 0; i < kM; ++i) {
        V sum = acc[i][v][0];
#pragma GCC unroll 4
        for (int p = 1; p < kParts; ++p) sum = hn::Add(sum, acc[i][v][p]);
        if (t.grid.zero != nullptr)
          sum = hn::NegMulAdd(zero, hn::Set(F(), t.x_sums[(row + i) * t.sums_stride + block]), sum);
        float* const to = t.out + (row + i) * t.stride + column + v * kLanes;
        hn::StoreU(block == 0 ? hn::Mul(sum, scale) : hn::MulAdd(sum, scale, hn::LoadU(F(), to)), F(), to);
      }
    }
  }
}

template <class W, bool kSigned, int kM, int kV>
void columns(const NarrowRows& t, int64_t row) {
  for (int64_t c = 0; c < kNarrowPanel; c += kV * kLanes) some_rows<W, kSigned, kM, kV>(t, row, c);
}

template <class W, bool kSigned>
void rows(const NarrowRows& t, int64_t count) {
  constexpr int kWide = HWY_TARGET == HWY_AVX3 ? 2 : 4;  // vectors of one row: the panel
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX3
  for (; i + 8 <= count; i += 8) columns<W, kSigned, 8, 2>(t, i);
#endif
  for (; i + 4 <= count; i += 4) columns<W, kSigned, 4, 2>(t, i);
  for (; i + 2 <= count; i += 2) columns<W, kSigned, 2, 2>(t, i);
  for (; i < count; ++i) columns<W, kSigned, 1, kWide>(t, i);
}

template <class W, bool kSigned, int kElement>
HWY_INLINE void unpack_element(const W& w, V table, V scale, V shift, float* to, int64_t step) {
  hn::StoreU(hn::MulAdd(w.template element<kElement>(table), scale, shift), F(), to + kElement * step);
}

template <class W, bool kSigned>
void unpack(const NarrowPiece& t) {
  const V table = W::table();
  for (int64_t column = 0; column < kNarrowPanel; column += kLanes) {
    float* to = t.out + column / t.wide * t.length * t.wide + column % t.wide;
    // What is beyond `length` lies in the next part of the panel, or after the last: those are written afterwards.
    for (int64_t k = t.first; k < t.first + t.length; k += kNarrowGroup, to += kNarrowGroup * t.wide) {
      const int64_t at = k / t.grid.block * t.grid.stride + column;
      const V scale = scales_at(t.grid, at);
      const V shift =
          t.grid.zero == nullptr ? hn::Zero(F()) : hn::Neg(hn::Mul(zero_points<kSigned>(t.grid.zero + at), scale));
      const W w(t.weights + k / kNarrowGroup * W::kGroupBytes, column);
      unpack_element<W, kSigned, 0>(w, table, scale, shift, to, t.wide);
      unpack_element<W, kSigned, 1>(w, table, scale, shift, to, t.wide);
      unpack_element<W, kSigned, 2>(w, table, scale, shift, to, t.wide);
      unpack_element<W, kSigned, 3>(w, table, scale, shift, to, t.wide);
      unpack_element<W, kSigned, 4>(w, table, scale, shift, to, t.wide);
      unpack_element<W, kSigned, 5>(w, table, scale, shift, to, t.wide);
      unpack_element<W, kSigned, 6>(w, table, scale, shift, to, t.wide);
      unpack_element<W, kSigned, 7>(w, table, scale, shift, to, t.wide);
    }
  }
}

template <class Narrow>
void widen_all(const void* from, int64_t n, float* to) {
  const auto* const p = static_cast<const Narrow*>(from);
  const hn::Rebind<Narrow, F> narrow;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(hn::PromoteTo(F(), hn::LoadU(narrow, p + i)), F(), to + i);
  const auto* const rest = static_cast<const uint16_t*>(from);
  for (; i < n; ++i) to[i] = std::is_same_v<Narrow, hwy::float16_t> ? f16_to_f32(rest[i]) : bf16_to_f32(rest[i]);
}

}  // namespace

const NarrowOps& narrow(DType type) {
  using I4 = FourBits<DType::kI4>;
  using U4 = FourBits<DType::kU4>;
  using E2M1 = FourBits<DType::kF4E2M1>;
  using E4M3 = EightBitFloats<DType::kF8E4M3>;
  using E5M2 = EightBitFloats<DType::kF8E5M2>;
  static constexpr NarrowOps kI4{rows<I4, true>, unpack<I4, true>};
  static constexpr NarrowOps kU4{rows<U4, false>, unpack<U4, false>};
  static constexpr NarrowOps kI8{rows<EightBits<true>, true>, unpack<EightBits<true>, true>};
  static constexpr NarrowOps kU8{rows<EightBits<false>, false>, unpack<EightBits<false>, false>};
  static constexpr NarrowOps kE2M1{rows<E2M1, true>, unpack<E2M1, true>};
  static constexpr NarrowOps kE4M3{rows<E4M3, true>, unpack<E4M3, true>};
  static constexpr NarrowOps kE5M2{rows<E5M2, true>, unpack<E5M2, true>};
  switch (type) {
    case DType::kI4: return kI4;
    case DType::kU4: return kU4;
    case DType::kI8: return kI8;
    case DType::kF4E2M1: return kE2M1;
    case DType::kF8E4M3: return kE4M3;
    case DType::kF8E5M2: return kE5M2;
    default: return kU8;
  }
}

void widen(DType type, const void* from, int64_t n, float* to) {
  if (type == DType::kF16)
    widen_all<hwy::float16_t>(from, n, to);
  else
    widen_all<hwy::bfloat16_t>(from, n, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
const NarrowOps& narrow_ops(Isa isa, DType weights) { return WOOTZ_BY_ISA(isa, narrow(weights)); }
void widen_floats(Isa isa, DType type, const void* from, int64_t n, float* to) {
  WOOTZ_BY_ISA(isa, widen(type, from, n, to));
}
}  // namespace wootz::cpu
#endif
