// IProfiler: per-step times.
#pragma once

#include "wootz/level.h"
#include "wootz/versioned_interface.h"

namespace nvinfer1 {
namespace v_1_0 {

/// Receives the time of every step after an inference, implemented by the application and set on an execution context.
/// Called on the thread that ran or reported the inference, once per step, in the same order every time.
#if NV_TENSORRT_MAJOR >= 11
class IProfiler : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IProfiler", 1, 0}; }

#else
class IProfiler {
 public:
#endif
  /// `layerName` is the step's name, made of the names of the layers fused into it; valid during the call. `ms` is in
  /// milliseconds.
  virtual void reportLayerTime(const char* layerName, float ms) noexcept = 0;

  virtual ~IProfiler() noexcept = default;
};

}  // namespace v_1_0

using IProfiler = v_1_0::IProfiler;

}  // namespace nvinfer1
