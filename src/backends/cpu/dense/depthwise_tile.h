// The inner loop of depthwise convolutions of BF16, channels last: a strip of neighbouring results, channel by channel.
#pragma once

#include "backends/cpu/dense/bf16_end.h"
#include "base/cpu_info.h"

namespace wootz::cpu {

inline constexpr int64_t kDepthwiseLanes = 16;  // channels of packed weights side by side
inline constexpr int64_t kDepthwisePlaces = 8;  // results of a strip, at most

// A strip's results are the rows of its end, and channels the columns.
struct DepthwiseStrip : Bf16End {
  // The channels of the pixel in column j under row k of the filter: pixels[k * reach + j].
  const uint16_t* const* pixels = nullptr;
  int64_t reach = 0;
  int64_t rows = 1, taps = 1;        // of the filter: its extents
  int64_t stride = 1, dilation = 1;  // along a row
  const float* weights = nullptr;    // [channels / 16][tap][16]
  const float* bias = nullptr;       // one value a channel, or null
  int64_t places = 0;                // results, at most kDepthwisePlaces
};
struct DepthwiseOps {
  void (*strip)(const DepthwiseStrip& strip);
};
const DepthwiseOps& depthwise_ops(Isa isa);

}  // namespace wootz::cpu
