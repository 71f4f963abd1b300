// NetworkDefinitionCreationFlag: properties fixed when a network is created.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/macros.h"

namespace nvinfer1 {

/// Bits 1U << NetworkDefinitionCreationFlag.
using NetworkDefinitionCreationFlags = uint32_t;

enum class NetworkDefinitionCreationFlag : int32_t {
  /// Always so; ignored.
  kEXPLICIT_BATCH TRT_DEPRECATED_ENUM = 0,
  /// Types follow from the inputs and the layers alone: precision flags, setPrecision and setOutputType have no say.
  kSTRONGLY_TYPED = 1,
  /// For Python plugins that have both: compile when first run, or while building.
  kPREFER_JIT_PYTHON_PLUGINS = 2,
  kPREFER_AOT_PYTHON_PLUGINS = 3,
};

template <>
struct impl::EnumMaxImpl<NetworkDefinitionCreationFlag> {
  static constexpr int32_t kVALUE = 4;
};

}  // namespace nvinfer1
