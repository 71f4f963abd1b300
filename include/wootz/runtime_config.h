// IRuntimeConfig: options of an execution context.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/no_copy.h"

namespace nvinfer1 {

/// When a context gets its activation memory.
enum class ExecutionContextAllocationStrategy : int32_t {
  /// On creation, enough for the largest profile.
  kSTATIC = 0,
  /// When a profile is chosen, enough for that one.
  kON_PROFILE_CHANGE = 1,
  /// From the application, by IExecutionContext::setDeviceMemoryV2.
  kUSER_MANAGED = 2,
};

template <>
struct impl::EnumMaxImpl<ExecutionContextAllocationStrategy> {
  static constexpr int32_t kVALUE = 3;
};

/// Options of ICudaEngine::createExecutionContext; made by ICudaEngine::createRuntimeConfig, owned by the caller.
class IRuntimeConfig : public INoCopy {
 public:
  /// See ExecutionContextAllocationStrategy; kSTATIC by default.
  virtual void setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy strategy) noexcept = 0;
  virtual ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() const noexcept = 0;
};

}  // namespace nvinfer1
