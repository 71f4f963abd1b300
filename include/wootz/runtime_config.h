// IRuntimeConfig: options of an execution context.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/no_copy.h"

namespace nvinfer1 {

enum class ExecutionContextAllocationStrategy : int32_t {
  kSTATIC = 0,
  kON_PROFILE_CHANGE = 1,
  kUSER_MANAGED = 2,
};

template <>
struct impl::EnumMaxImpl<ExecutionContextAllocationStrategy> {
  static constexpr int32_t kVALUE = 3;
};

class IRuntimeConfig : public INoCopy {
 public:
  virtual void setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy strategy) noexcept = 0;
  virtual ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() const noexcept = 0;
};

}  // namespace nvinfer1
