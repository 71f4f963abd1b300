// ISerializationConfig: what goes into a plan that an engine writes.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/no_copy.h"

namespace nvinfer1 {

/// Bits 1U << SerializationFlag.
using SerializationFlags = uint32_t;

enum class SerializationFlag : int32_t {
  /// Leave out the weights that a refit can bring; such a plan stays refittable. Refittable engines only.
  kEXCLUDE_WEIGHTS = 0,
  /// Leave out the runtime that a version-compatible plan may hold.
  kEXCLUDE_LEAN_RUNTIME = 1,
  /// Stay refittable; without it a plan with weights is not.
  kINCLUDE_REFIT = 2,
};

template <>
struct impl::EnumMaxImpl<SerializationFlag> {
  static constexpr int32_t kVALUE = 3;
};

/// Options of ICudaEngine::serializeWithConfig; made by ICudaEngine::createSerializationConfig, owned by the caller.
class ISerializationConfig : public INoCopy {
 public:
  /// Replaces all flags. False for unknown bits.
  virtual bool setFlags(SerializationFlags serializationFlags) noexcept = 0;
  virtual SerializationFlags getFlags() const noexcept = 0;

  /// Clears, sets and reads one flag. All are clear by default.
  virtual bool clearFlag(SerializationFlag serializationFlag) noexcept = 0;
  virtual bool setFlag(SerializationFlag serializationFlag) noexcept = 0;
  virtual bool getFlag(SerializationFlag serializationFlag) const noexcept = 0;
};

}  // namespace nvinfer1
