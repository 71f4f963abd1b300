// The inner loops of depthwise convolutions, channels last: a strip of neighbouring results, channel by channel.
#pragma once

#include "backends/cpu/dense/bf16_end.h"
#include "backends/cpu/dense/depthwise_pixels.h"
#include "backends/cpu/dense/quads_end.h"
#include "base/cpu_info.h"

namespace wootz::cpu {

inline constexpr int64_t kDepthwiseLanes = 16;  // channels of packed weights side by side, for BF16

// Of BF16. A strip's results are the rows of its end, and channels the columns.
struct DepthwiseStrip : DepthwisePixels<uint16_t>, Bf16End {
  const float* weights = nullptr;  // [channels / 16][tap][16]
  const float* bias = nullptr;     // one value a channel, or null
};
struct DepthwiseOps {
  void (*strip)(const DepthwiseStrip& strip);
};
const DepthwiseOps& depthwise_ops(Isa isa);

// Of 8 bits: sums of floats, which are exact for filters of up to kMostByteTaps positions.
inline constexpr int64_t kMostByteTaps = 256;
struct DepthwiseByteStrip : DepthwisePixels<uint8_t> {
  bool is_signed = false;
  const float* weights = nullptr;  // [channels / panel][tap][panel]
  const float* start = nullptr;    // what sums begin with, to the end of the last panel, as are scales and biases
  QuadsEnd end;                    // of the first channel, but for `sums` and `columns`
};
struct DepthwiseByteOps {
  int64_t panel;  // channels of packed weights side by side
  void (*strip)(const DepthwiseByteStrip& strip);
};
const DepthwiseByteOps& depthwise_byte_ops(Isa isa);

}  // namespace wootz::cpu
