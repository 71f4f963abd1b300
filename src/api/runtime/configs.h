// IRuntimeConfig and ISerializationConfig: plain values.
#pragma once

#include "api/runtime/public.h"

namespace wootz::api {

class RuntimeConfig final : public nvinfer1::IRuntimeConfig {
 public:
  void setExecutionContextAllocationStrategy(nvinfer1::ExecutionContextAllocationStrategy strategy) noexcept override {
    strategy_ = strategy;
  }
  nvinfer1::ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() const noexcept override {
    return strategy_;
  }

 private:
  nvinfer1::ExecutionContextAllocationStrategy strategy_ = nvinfer1::ExecutionContextAllocationStrategy::kSTATIC;
};

class SerializationConfig final : public nvinfer1::ISerializationConfig {
 public:
  bool setFlags(nvinfer1::SerializationFlags flags) noexcept override {
    if (flags >> nvinfer1::EnumMax<nvinfer1::SerializationFlag>() != 0) return false;
    flags_ = flags;
    return true;
  }
  nvinfer1::SerializationFlags getFlags() const noexcept override { return flags_; }
  bool clearFlag(nvinfer1::SerializationFlag flag) noexcept override {
    if (!known(flag)) return false;
    flags_ &= ~(1U << static_cast<uint32_t>(flag));
    return true;
  }
  bool setFlag(nvinfer1::SerializationFlag flag) noexcept override {
    if (!known(flag)) return false;
    flags_ |= 1U << static_cast<uint32_t>(flag);
    return true;
  }
  bool getFlag(nvinfer1::SerializationFlag flag) const noexcept override {
    return known(flag) && (flags_ >> static_cast<uint32_t>(flag) & 1U) != 0;
  }

 private:
  static bool known(nvinfer1::SerializationFlag flag) {
    const auto number = static_cast<int32_t>(flag);
    return number >= 0 && number < nvinfer1::EnumMax<nvinfer1::SerializationFlag>();
  }
  nvinfer1::SerializationFlags flags_ = 0;
};

}  // namespace wootz::api
