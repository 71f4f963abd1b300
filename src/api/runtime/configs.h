// IRuntimeConfig and ISerializationConfig: plain values.
#pragma once

#include "api/runtime/reporter.h"

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
  explicit SerializationConfig(const Reporter& reporter) : reporter_(reporter) {}
  bool setFlags(nvinfer1::SerializationFlags flags) noexcept override {
    return attempt(reporter_, "ISerializationConfig::setFlags", [&]() -> Status {
      if (flags >> nvinfer1::EnumMax<nvinfer1::SerializationFlag>() != 0)
        return invalid_argument("unknown bits in {:#x}", flags);
      flags_ = flags;
      return Status();
    });
  }
  nvinfer1::SerializationFlags getFlags() const noexcept override { return flags_; }
  bool clearFlag(nvinfer1::SerializationFlag flag) noexcept override {
    return change("ISerializationConfig::clearFlag", flag, false);
  }
  bool setFlag(nvinfer1::SerializationFlag flag) noexcept override {
    return change("ISerializationConfig::setFlag", flag, true);
  }
  bool getFlag(nvinfer1::SerializationFlag flag) const noexcept override {
    return known(flag) && (flags_ >> static_cast<uint32_t>(flag) & 1U) != 0;
  }

 private:
  static bool known(nvinfer1::SerializationFlag flag) {
    const auto number = static_cast<int32_t>(flag);
    return number >= 0 && number < nvinfer1::EnumMax<nvinfer1::SerializationFlag>();
  }
  bool change(const char* call, nvinfer1::SerializationFlag flag, bool on) noexcept {
    return attempt(reporter_, call, [&]() -> Status {
      if (!known(flag)) return invalid_argument("there is no flag {}", static_cast<int32_t>(flag));
      const uint32_t bit = 1U << static_cast<uint32_t>(flag);
      flags_ = on ? flags_ | bit : flags_ & ~bit;
      return Status();
    });
  }

  Reporter reporter_;
  nvinfer1::SerializationFlags flags_ = 0;
};

}  // namespace wootz::api
