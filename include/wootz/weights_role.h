// WeightsRole: which of a layer's weights a refit means.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

/// Part that weights play in their layer.
enum class WeightsRole : int32_t {
  /// Of a convolution or deconvolution.
  kKERNEL = 0,
  /// Of a convolution or deconvolution.
  kBIAS = 1,
  /// Of a scale layer; so is kSCALE.
  kSHIFT = 2,
  kSCALE = 3,
  /// The values of a constant layer.
  kCONSTANT = 4,
  /// Any other: weights that are known by name only.
  kANY = 5,
};

template <>
struct impl::EnumMaxImpl<WeightsRole> {
  static constexpr int32_t kVALUE = 6;
};

}  // namespace nvinfer1
