// What a strip of neighbouring results of a depthwise convolution reads, channels last.
#pragma once

#include <cstdint>

namespace wootz::cpu {

inline constexpr int64_t kDepthwisePlaces = 8;  // results of a strip, at most

template <class T>
struct DepthwisePixels {
  // The channels of the pixel in column j under row k of the filter: pixels[k * reach + j].
  const T* const* pixels = nullptr;
  int64_t reach = 0;
  int64_t rows = 1, taps = 1;        // of the filter: its extents
  int64_t stride = 1, dilation = 1;  // along a row
  int64_t places = 0;                // results, at most kDepthwisePlaces
  int64_t channels = 0;
};

}  // namespace wootz::cpu
