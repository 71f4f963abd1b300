// TensorFormat: memory layout of a tensor.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

enum class TensorFormat : int32_t {
  kLINEAR = 0,
  kCHW2 = 1,
  kHWC8 = 2,
  kCHW4 = 3,
  kCHW16 = 4,
  kCHW32 = 5,
  kDHWC8 = 6,
  kCDHW32 = 7,
  kHWC = 8,
  kDLA_LINEAR = 9,
  kDLA_HWC4 = 10,
  kHWC16 = 11,
  kDHWC = 12,
};

template <>
struct impl::EnumMaxImpl<TensorFormat> {
  static constexpr int32_t kVALUE = 13;
};

/// Bits 1U << TensorFormat.
using TensorFormats = uint32_t;

}  // namespace nvinfer1
