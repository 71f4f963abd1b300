// PaddingMode: how windows are placed at the borders of an image.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

/// Given input extent I, padding before and after P0 and P1, window extent W counted with dilation, stride S: how the
/// output extent follows.
enum class PaddingMode : int32_t {
  /// floor((I + P0 + P1 - W) / S) + 1.
  kEXPLICIT_ROUND_DOWN = 0,
  /// ceil((I + P0 + P1 - W) / S) + 1.
  kEXPLICIT_ROUND_UP = 1,
  /// ceil(I / S), padded evenly, with what is left over after the image. Explicit padding is ignored; so for
  /// kSAME_LOWER.
  kSAME_UPPER = 2,
  /// ceil(I / S), with what is left over before the image.
  kSAME_LOWER = 3,
};

template <>
struct impl::EnumMaxImpl<PaddingMode> {
  static constexpr int32_t kVALUE = 4;
};

}  // namespace nvinfer1
