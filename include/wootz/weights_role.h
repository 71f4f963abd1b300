// WeightsRole: which of a layer's weights a refit means.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

enum class WeightsRole : int32_t {
  kKERNEL = 0,
  kBIAS = 1,
  kSHIFT = 2,
  kSCALE = 3,
  kCONSTANT = 4,
  kANY = 5,
};

template <>
struct impl::EnumMaxImpl<WeightsRole> {
  static constexpr int32_t kVALUE = 6;
};

}  // namespace nvinfer1
