// NetworkDefinitionCreationFlag: properties fixed when a network is created.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/level.h"
#include "wootz/macros.h"

namespace nvinfer1 {

/// Bits 1U << NetworkDefinitionCreationFlag.
using NetworkDefinitionCreationFlags = uint32_t;

enum class NetworkDefinitionCreationFlag : int32_t {
#if NV_TENSORRT_MAJOR < 11
  /// Always so; ignored.
  kEXPLICIT_BATCH TRT_DEPRECATED_ENUM = 0,
#endif
  /// Types follow from the inputs and the layers alone: precision flags, setPrecision and setOutputType have no say. So
  /// it is with every network of a program at level 11.
  kSTRONGLY_TYPED WOOTZ_DEPRECATED_ENUM_SINCE_11 = WOOTZ_BY_LEVEL(1, 0),
  /// For Python plugins that have both: compile when first run, or while building.
  kPREFER_JIT_PYTHON_PLUGINS = WOOTZ_BY_LEVEL(2, 1),
  kPREFER_AOT_PYTHON_PLUGINS = WOOTZ_BY_LEVEL(3, 2),
};

template <>
struct impl::EnumMaxImpl<NetworkDefinitionCreationFlag> {
  static constexpr int32_t kVALUE = WOOTZ_BY_LEVEL(4, 3);
};

}  // namespace nvinfer1
