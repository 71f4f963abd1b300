// EngineCapability and DeviceType.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

/// Environment an engine is for. Only kSTANDARD is offered: the others are refused when building.
enum class EngineCapability : int32_t {
  /// The full runtime.
  kSTANDARD = 0,
  /// The safety runtime.
  kSAFETY = 1,
  /// DLA without this runtime.
  kDLA_STANDALONE = 2,
};

template <>
struct impl::EnumMaxImpl<EngineCapability> {
  static constexpr int32_t kVALUE = 3;
};

/// Device a layer runs on. There is no DLA here; layers asked onto it run on the engine's device, with a warning, when
/// BuilderFlag::kGPU_FALLBACK is set, and are refused otherwise.
enum class DeviceType : int32_t {
  /// The engine's device.
  kGPU = 0,
  kDLA = 1,
};

template <>
struct impl::EnumMaxImpl<DeviceType> {
  static constexpr int32_t kVALUE = 2;
};

}  // namespace nvinfer1
