// TacticSource: libraries that tactics may come from.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/level.h"
#include "wootz/macros.h"

namespace nvinfer1 {

/// Origin of tactics, for IBuilderConfig::setTacticSources.
enum class TacticSource : int32_t {
#if NV_TENSORRT_MAJOR < 11
  /// Superseded by kCUBLAS_LT.
  kCUBLAS TRT_DEPRECATED_ENUM = 0,
  /// cuBLASLt.
  kCUBLAS_LT TRT_DEPRECATED_ENUM = 1,
  /// cuDNN.
  kCUDNN TRT_DEPRECATED_ENUM = 2,
#endif
  /// Convolutions that skip work at the borders by masks.
  kEDGE_MASK_CONVOLUTIONS = WOOTZ_BY_LEVEL(3, 0),
  /// Kernels generated and compiled while building.
  kJIT_CONVOLUTIONS = WOOTZ_BY_LEVEL(4, 1),
};

template <>
struct impl::EnumMaxImpl<TacticSource> {
  static constexpr int32_t kVALUE = WOOTZ_BY_LEVEL(5, 2);
};

/// Bits 1U << TacticSource.
using TacticSources = uint32_t;

}  // namespace nvinfer1
