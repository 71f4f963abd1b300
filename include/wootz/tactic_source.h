// TacticSource: libraries that tactics may come from.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/macros.h"

namespace nvinfer1 {

enum class TacticSource : int32_t {
  kCUBLAS TRT_DEPRECATED_ENUM = 0,
  kCUBLAS_LT TRT_DEPRECATED_ENUM = 1,
  kCUDNN TRT_DEPRECATED_ENUM = 2,
  kEDGE_MASK_CONVOLUTIONS = 3,
  kJIT_CONVOLUTIONS = 4,
};

template <>
struct impl::EnumMaxImpl<TacticSource> {
  static constexpr int32_t kVALUE = 5;
};

/// Bits 1U << TacticSource.
using TacticSources = uint32_t;

}  // namespace nvinfer1
