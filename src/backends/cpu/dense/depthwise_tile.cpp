#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/dense/depthwise_tile.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/dense/bf16_finish_inl.h"
#include "backends/cpu/dense/depthwise_inl.h"
#include "backends/cpu/dense/depthwise_tile.h"

HWY_BEFORE_NAMESPACE();
namespace wootz::cpu {
namespace HWY_NAMESPACE {
namespace {

void strip(const DepthwiseStrip& s) {
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  for (int64_t c = 0; c < s.columns; c += kLanes) {
    const float* w = s.weights + c / kDepthwiseLanes * s.rows * s.taps * kDepthwiseLanes + c % kDepthwiseLanes;
    const V start = s.bias == nullptr ? hn::Zero(F()) : load_first(s.bias + c, s.columns - c);
    strip_sums(s, w, kDepthwiseLanes, start, c, [&](V sum, int64_t place) HWY_ATTR { finish(s, sum, place, c); });
  }
}

}  // namespace

const DepthwiseOps& depthwise() {
  static constexpr DepthwiseOps kOps{strip};
  return kOps;
}

}  // namespace HWY_NAMESPACE
}  // namespace wootz::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wootz::cpu {
const DepthwiseOps& depthwise_ops(Isa isa) { return WOOTZ_BY_ISA(isa, depthwise()); }
}  // namespace wootz::cpu
#endif
