#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/pool/max_windows.cpp"
#include "hwy/foreach_target.h"

#include <limits>

#include "backends/cpu/pool/max_windows.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The largest so far, by what an element is.
template <class T>
struct Integer {
  using Type = T;
  template <class D>
  struct Best {
    hn::Vec<D> largest;
    HWY_INLINE void start(D d) { largest = hn::Set(d, std::numeric_limits<T>::min()); }
    HWY_INLINE void take(D, hn::Vec<D> v) { largest = hn::Max(largest, v); }
    HWY_INLINE hn::Vec<D> get(D) const { return largest; }
  };
};

// What instructions make of a NaN depends on which operand it is: it is looked for by itself.
struct Float {
  using Type = float;
  template <class D>
  struct Best {
    hn::Vec<D> largest;
    hn::Mask<D> nan;
    HWY_INLINE void start(D d) {
      largest = hn::Set(d, -std::numeric_limits<float>::infinity());
      nan = hn::MaskFromVec(hn::Zero(d));
    }
    HWY_INLINE void take(D, hn::Vec<D> v) {
      largest = hn::Max(largest, v);
      nan = hn::Or(nan, hn::IsNaN(v));
    }
    HWY_INLINE hn::Vec<D> get(D d) const { return hn::IfThenElse(nan, hn::NaN(d), largest); }
  };
};

// Floats of 16 bits as integers of the same order: the magnitude's bits of negative ones are inverted, and back. A NaN
// with a sign is below minus infinity then, and would lose: so the smallest is kept, too.
template <int16_t kInfinity>
struct HalfFloat {
  using Type = int16_t;
  template <class D>
  struct Best {
    static constexpr int16_t kLowest = -kInfinity - 1;
    hn::Vec<D> largest, smallest;
    HWY_INLINE void start(D d) { largest = smallest = hn::Set(d, kLowest); }
    static HWY_INLINE hn::Vec<D> ordered(D d, hn::Vec<D> v) {
      return hn::Xor(v, hn::And(hn::ShiftRight<15>(v), hn::Set(d, int16_t{0x7fff})));
    }
    HWY_INLINE void take(D d, hn::Vec<D> v) {
      const hn::Vec<D> key = ordered(d, v);
      largest = hn::Max(largest, key);
      smallest = hn::Min(smallest, key);
    }
    HWY_INLINE hn::Vec<D> get(D d) const {
      const auto nan = hn::Lt(smallest, hn::Set(d, kLowest));
      return hn::IfThenElse(nan, hn::Set(d, int16_t{0x7fff}), ordered(d, largest));
    }
  };
};

// kWindows neighbours, kVectors vectors of channels of each.
template <int kWindows, int kVectors, class Kind, class D, class T = typename Kind::Type>
HWY_INLINE void tile(D d, const MaxWindows& m, const T* x, T* y) {
  constexpr int kAll = kWindows * kVectors;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  typename Kind::template Best<D> best[kAll];
#pragma GCC unroll 8
  for (int i = 0; i < kAll; ++i) best[i].start(d);
  for (int64_t t0 = 0; t0 < m.taps[0]; ++t0)
    for (int64_t t1 = 0; t1 < m.taps[1]; ++t1) {
      const T* at = x + t0 * m.step[0] + t1 * m.step[1];
      for (int64_t t2 = 0; t2 < m.taps[2]; ++t2, at += m.step[2]) {
#pragma GCC unroll 8
        for (int i = 0; i < kAll; ++i)
          best[i].take(d, hn::LoadU(d, at + i / kVectors * m.apart + i % kVectors * lanes));
      }
    }
#pragma GCC unroll 8
  for (int i = 0; i < kAll; ++i) hn::StoreU(best[i].get(d), d, y + i / kVectors * m.y_apart + i % kVectors * lanes);
}

// The channels from c on, of kWindows neighbours. The last vector reaches back over channels that are done.
template <int kWindows, class Kind, class D, class T = typename Kind::Type>
HWY_INLINE void all_channels(D d, const MaxWindows& m, const T* x, T* y) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int kMost = 4 / kWindows;
  int64_t c = 0;
  for (; c + kMost * lanes <= m.channels; c += kMost * lanes) tile<kWindows, kMost, Kind>(d, m, x + c, y + c);
  for (; c < m.channels; c += lanes) {
    const int64_t at = HWY_MIN(c, m.channels - lanes);
    tile<kWindows, 1, Kind>(d, m, x + at, y + at);
  }
}

// Of as many lanes as there are channels, or fewer.
template <class Kind, class D>
HWY_INLINE void by_vectors(D d, const MaxWindows& m) {
  using T = typename Kind::Type;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if constexpr (hn::MaxLanes(D()) > 1)
    if (m.channels < lanes) return by_vectors<Kind>(hn::Half<D>(), m);
  const auto* x = static_cast<const T*>(m.x);
  auto* y = static_cast<T*>(m.y);
  int64_t i = 0;
  if (m.channels < 2 * lanes)
    for (; i + 4 <= m.count; i += 4) all_channels<4, Kind>(d, m, x + i * m.apart, y + i * m.y_apart);
  if (m.channels < 4 * lanes)
    for (; i + 2 <= m.count; i += 2) all_channels<2, Kind>(d, m, x + i * m.apart, y + i * m.y_apart);
  for (; i < m.count; ++i) all_channels<1, Kind>(d, m, x + i * m.apart, y + i * m.y_apart);
}

template <class Kind>
void windows(const MaxWindows& m) {
  by_vectors<Kind>(hn::ScalableTag<typename Kind::Type>(), m);
}

}  // namespace

MaxWindowsFn max_windows(DType type) {
  switch (type) {
    case DType::kI8: return windows<Integer<int8_t>>;
    case DType::kU8: return windows<Integer<uint8_t>>;
    case DType::kF32: return windows<Float>;
    case DType::kF16: return windows<HalfFloat<0x7c00>>;
    case DType::kBF16: return windows<HalfFloat<0x7f80>>;
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
MaxWindowsFn find_max_windows(Isa isa, DType type) { return WOOTZ_BY_ISA(isa, max_windows(type)); }
}  // namespace wootz::cpu
#endif
