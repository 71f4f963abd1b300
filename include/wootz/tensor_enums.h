// TensorIOMode and TensorLocation.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

enum class TensorIOMode : int32_t {
  kNONE = 0,
  kINPUT = 1,
  kOUTPUT = 2,
};

template <>
struct impl::EnumMaxImpl<TensorIOMode> {
  static constexpr int32_t kVALUE = 3;
};

enum class TensorLocation : int32_t {
  kDEVICE = 0,
  kHOST = 1,
};

template <>
struct impl::EnumMaxImpl<TensorLocation> {
  static constexpr int32_t kVALUE = 2;
};

}  // namespace nvinfer1
