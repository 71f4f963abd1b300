// ProfilingVerbosity: how much an engine tells about its layers.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

/// What inspector, profiler and NVTX are told; chosen when building, and stored in the plan.
enum class ProfilingVerbosity : int32_t {
  /// Names of steps, and the layers that each came from.
  kLAYER_NAMES_ONLY = 0,
  /// Nothing.
  kNONE = 1,
  /// Also shapes, types, formats, tactics, and why they were chosen.
  kDETAILED = 2,
};

template <>
struct impl::EnumMaxImpl<ProfilingVerbosity> {
  static constexpr int32_t kVALUE = 3;
};

}  // namespace nvinfer1
