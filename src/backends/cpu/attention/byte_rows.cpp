#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention/byte_rows.cpp"
#include "hwy/foreach_target.h"

#include <algorithm>

#include "backends/cpu/attention/byte_rows.h"
#include "backends/cpu/simd/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));

// A vector of bytes as floats.
template <class Byte>
struct Integers {
  static constexpr float kFactor = 1;
  static HWY_INLINE V load(const uint8_t* from) {
    const auto bytes = hn::LoadU(hn::Rebind<Byte, F>(), reinterpret_cast<const Byte*>(from));
    return hn::ConvertTo(F(), hn::PromoteTo(I(), bytes));
  }
};

using Halves = hn::Rebind<int16_t, F>;
HWY_INLINE V from_halves(hn::Vec<Halves> bits) {
  return hn::PromoteTo(F(), hn::BitCast(hn::Rebind<hwy::float16_t, F>(), bits));
}
HWY_INLINE hn::Vec<Halves> codes_at(const uint8_t* from) {
  return hn::PromoteTo(Halves(), hn::LoadU(hn::Rebind<int8_t, F>(), reinterpret_cast<const int8_t*>(from)));
}

// As f16 of the same bits, which is 2^-8 of the value; what is no number has other bits there.
struct E4M3 {
  static constexpr float kFactor = 256;
  static HWY_INLINE V load(const uint8_t* from) {
    const Halves d;
    const auto codes = codes_at(from), none = hn::Set(d, int16_t{0x7f});
    const auto bits = hn::And(hn::ShiftLeft<7>(codes), hn::Set(d, static_cast<int16_t>(0xbf80)));
    return from_halves(hn::IfThenElse(hn::Eq(hn::And(codes, none), none), hn::Set(d, int16_t{0x7e00}), bits));
  }
};

struct E5M2 {
  static constexpr float kFactor = 1;
  static HWY_INLINE V load(const uint8_t* from) { return from_halves(hn::ShiftLeft<8>(codes_at(from))); }
};

// Less than a vector of them: zeros after the last.
template <class T>
HWY_INLINE V load_some(const uint8_t* from, int64_t n) {
  alignas(16) uint8_t bytes[HWY_LANES(float)] = {};
  std::copy_n(from, n, bytes);
  return T::load(bytes);
}

// Sums of the lanes of four vectors, in the order of these.
HWY_INLINE void store_sums(V a, V b, V c, V d, float* to) {
  const F f;
  const hn::Repartition<uint64_t, F> wide;
  const V ab = hn::Add(hn::InterleaveLower(f, a, b), hn::InterleaveUpper(f, a, b)),
          cd = hn::Add(hn::InterleaveLower(f, c, d), hn::InterleaveUpper(f, c, d));
  const auto ab2 = hn::BitCast(wide, ab), cd2 = hn::BitCast(wide, cd);
  const V blocks =
      hn::Add(hn::BitCast(f, hn::InterleaveLower(wide, ab2, cd2)), hn::BitCast(f, hn::InterleaveUpper(wide, ab2, cd2)));
  const hn::Half<F> half;
  const auto two = hn::Add(hn::LowerHalf(half, blocks), hn::UpperHalf(half, blocks));
#if HWY_TARGET == HWY_AVX3
  const hn::Half<hn::Half<F>> quarter;
  hn::StoreU(hn::Add(hn::LowerHalf(quarter, two), hn::UpperHalf(quarter, two)), quarter, to);
#else
  hn::StoreU(two, half, to);
#endif
}

constexpr int kKeys = 4;

// kM rows of q by kKeys of k.
template <class T, int kM>
HWY_INLINE void dot_block(const float* q, int64_t ldq, const uint8_t* const (&k)[kKeys], float (&sums)[kM][kKeys],
                          int64_t size) {
  V acc[kM][kKeys];
#pragma GCC unroll 4
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kKeys; ++j) acc[i][j] = hn::Zero(F());
  const auto step = [&](int64_t d, int64_t n) HWY_ATTR {
    V row[kM];
#pragma GCC unroll 4
    for (int i = 0; i < kM; ++i)
      row[i] = n == kLanes ? hn::LoadU(F(), q + i * ldq + d)
                           : hn::MaskedLoad(hn::FirstN(F(), static_cast<size_t>(n)), F(), q + i * ldq + d);
#pragma GCC unroll 4
    for (int j = 0; j < kKeys; ++j) {
      const V key = n == kLanes ? T::load(k[j] + d) : load_some<T>(k[j] + d, n);
#pragma GCC unroll 4
      for (int i = 0; i < kM; ++i) acc[i][j] = hn::MulAdd(row[i], key, acc[i][j]);
    }
  };
  int64_t d = 0;
  for (; d + kLanes <= size; d += kLanes) step(d, kLanes);
  if (d < size) step(d, size - d);
#pragma GCC unroll 4
  for (int i = 0; i < kM; ++i) store_sums(acc[i][0], acc[i][1], acc[i][2], acc[i][3], sums[i]);
}

template <class T, int kM>
void dot_rows(const float* q, int64_t ldq, const uint8_t* k, int64_t ldk, int64_t n, float* s, int64_t lds,
              int64_t size) {
  for (int64_t j = 0; j < n; j += kKeys) {
    const uint8_t* keys[kKeys];
    for (int64_t e = 0; e < kKeys; ++e) keys[e] = k + std::min(j + e, n - 1) * ldk;
    float sums[kM][kKeys];
    dot_block<T, kM>(q, ldq, keys, sums, size);
    const int64_t there = std::min<int64_t>(kKeys, n - j);
    for (int i = 0; i < kM; ++i) std::copy_n(sums[i], there, s + i * lds + j);
  }
}

template <class T>
void dots(const float* q, int64_t ldq, int64_t m, const uint8_t* k, int64_t ldk, int64_t n, float* s, int64_t lds,
          int64_t size) {
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) dot_rows<T, 4>(q + i * ldq, ldq, k, ldk, n, s + i * lds, lds, size);
  for (; i + 2 <= m; i += 2) dot_rows<T, 2>(q + i * ldq, ldq, k, ldk, n, s + i * lds, lds, size);
  for (; i < m; ++i) dot_rows<T, 1>(q + i * ldq, ldq, k, ldk, n, s + i * lds, lds, size);
}

// kM rows of kV vectors of columns; with `some`, that many columns of one vector.
template <class T, int kM, int kV>
HWY_INLINE void gather_block(const float* w, int64_t ldw, const uint8_t* v, int64_t ldv, int64_t n, float* out,
                             int64_t ldo, int64_t some) {
  const auto mask = hn::FirstN(F(), static_cast<size_t>(some));
  const bool whole = some == kLanes;
  V acc[kM][kV];
#pragma GCC unroll 4
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c)
      acc[i][c] = whole ? hn::LoadU(F(), out + i * ldo + c * kLanes) : hn::MaskedLoad(mask, F(), out + i * ldo);
  for (int64_t j = 0; j < n; ++j) {
    V value[kV];
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c) value[c] = whole ? T::load(v + j * ldv + c * kLanes) : load_some<T>(v + j * ldv, some);
#pragma GCC unroll 4
    for (int i = 0; i < kM; ++i) {
      const V weight = hn::Set(F(), w[i * ldw + j]);
#pragma GCC unroll 4
      for (int c = 0; c < kV; ++c) acc[i][c] = hn::MulAdd(weight, value[c], acc[i][c]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kM; ++i)
#pragma GCC unroll 4
    for (int c = 0; c < kV; ++c) {
      if (whole)
        hn::StoreU(acc[i][c], F(), out + i * ldo + c * kLanes);
      else
        hn::BlendedStore(acc[i][c], mask, F(), out + i * ldo);
    }
}

template <class T, int kM>
void gather_rows(const float* w, int64_t ldw, const uint8_t* v, int64_t ldv, int64_t n, float* out, int64_t ldo,
                 int64_t size) {
  constexpr int kV = HWY_TARGET == HWY_AVX3 || kM < 4 ? 4 : 2;
  int64_t d = 0;
  for (; d + kV * kLanes <= size; d += kV * kLanes)
    gather_block<T, kM, kV>(w, ldw, v + d, ldv, n, out + d, ldo, kLanes);
  for (; d + kLanes <= size; d += kLanes) gather_block<T, kM, 1>(w, ldw, v + d, ldv, n, out + d, ldo, kLanes);
  if (d < size) gather_block<T, kM, 1>(w, ldw, v + d, ldv, n, out + d, ldo, size - d);
}

template <class T>
void gather(const float* w, int64_t ldw, int64_t m, const uint8_t* v, int64_t ldv, int64_t n, float* out, int64_t ldo,
            int64_t size) {
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) gather_rows<T, 4>(w + i * ldw, ldw, v, ldv, n, out + i * ldo, ldo, size);
  for (; i + 2 <= m; i += 2) gather_rows<T, 2>(w + i * ldw, ldw, v, ldv, n, out + i * ldo, ldo, size);
  for (; i < m; ++i) gather_rows<T, 1>(w + i * ldw, ldw, v, ldv, n, out + i * ldo, ldo, size);
}

template <class T>
void widen(const uint8_t* from, int64_t n, float zero, float* to) {
  const V factor = splat(T::kFactor), less = splat(zero);
  const auto number = [&](V v) HWY_ATTR { return hn::MulSub(v, factor, less); };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(number(T::load(from + i)), F(), to + i);
  if (i < n)
    hn::BlendedStore(number(load_some<T>(from + i, n - i)), hn::FirstN(F(), static_cast<size_t>(n - i)), F(), to + i);
}

template <class T>
constexpr ByteRows kRowsOf{T::kFactor, dots<T>, gather<T>, widen<T>};

}  // namespace

const ByteRows* rows_of(DType type) {
  switch (type) {
    case DType::kI8: return &kRowsOf<Integers<int8_t>>;
    case DType::kU8: return &kRowsOf<Integers<uint8_t>>;
    case DType::kF8E4M3: return &kRowsOf<E4M3>;
    case DType::kF8E5M2: return &kRowsOf<E5M2>;
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
const ByteRows* byte_rows(DType type, Isa isa) { return WOOTZ_BY_ISA(isa, rows_of(type)); }
}  // namespace wootz::cpu
#endif
