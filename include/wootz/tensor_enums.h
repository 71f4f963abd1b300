// TensorIOMode and TensorLocation.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

/// Part a tensor plays in an engine.
enum class TensorIOMode : int32_t {
  /// Neither; also the answer for an unknown name.
  kNONE = 0,
  kINPUT = 1,
  kOUTPUT = 2,
};

template <>
struct impl::EnumMaxImpl<TensorIOMode> {
  static constexpr int32_t kVALUE = 3;
};

/// Where a tensor's values lie.
enum class TensorLocation : int32_t {
  /// On the device that runs the engine; on a CPU engine that is host memory.
  kDEVICE = 0,
  /// In host memory, in any case: shape tensors.
  kHOST = 1,
};

template <>
struct impl::EnumMaxImpl<TensorLocation> {
  static constexpr int32_t kVALUE = 2;
};

}  // namespace nvinfer1
