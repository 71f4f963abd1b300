#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/dense/depthwise_byte_tile.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/dense/depthwise_inl.h"
#include "backends/cpu/dense/depthwise_tile.h"
#include "backends/cpu/dense/quads_end_inl.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
constexpr int64_t kPanel = 2 * kLanes;  // of finish_rows

// One panel of channels at a time: its sums lie in the first-level cache until they are results.
template <class T>
HWY_INLINE void strip_of(const DepthwiseByteStrip& s, const DepthwisePixels<T>& pixels) {
  alignas(64) float sums[kDepthwisePlaces * kPanel];
  QuadsEnd e = s.end;
  e.float_sums = sums;
  e.stride = kPanel;
  for (int64_t panel = 0; panel < s.channels; panel += kPanel) {
    for (int64_t v = 0; v < kPanel && panel + v < s.channels; v += kLanes)
      strip_sums(pixels, s.weights + panel * s.rows * s.taps + v, kPanel, load_lanes(s.start + panel + v), panel + v,
                 [&](V sum, int64_t place) HWY_ATTR { store_lanes(sum, sums + place * kPanel + v); });
    e.columns = std::min(kPanel, s.channels - panel);
    finish_rows<float>(e, s.places);
    e.advance(kPanel);
  }
}

void strip(const DepthwiseByteStrip& s) {
  if (!s.is_signed) return strip_of(s, s);
  const auto* pixels = reinterpret_cast<const int8_t* const*>(s.pixels);
  strip_of(s, DepthwisePixels<int8_t>{pixels, s.reach, s.rows, s.taps, s.stride, s.dilation, s.places, s.channels});
}

}  // namespace

const DepthwiseByteOps& depthwise_bytes() {
  static constexpr DepthwiseByteOps kOps{kPanel, strip};
  return kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
const DepthwiseByteOps& depthwise_byte_ops(Isa isa) { return WOOTZ_BY_ISA(isa, depthwise_bytes()); }
}  // namespace wootz::cpu
#endif
