// ProfilingVerbosity: how much an engine tells about its layers.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

enum class ProfilingVerbosity : int32_t {
  kLAYER_NAMES_ONLY = 0,
  kNONE = 1,
  kDETAILED = 2,
};

template <>
struct impl::EnumMaxImpl<ProfilingVerbosity> {
  static constexpr int32_t kVALUE = 3;
};

}  // namespace nvinfer1
