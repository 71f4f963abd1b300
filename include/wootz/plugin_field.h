// PluginField and PluginFieldCollection: a plugin's attributes, by name.
#pragma once

#include <cstdint>

#include "wootz/char_types.h"
#include "wootz/enum_max.h"

namespace nvinfer1 {

/// Element type of a plugin field.
enum class PluginFieldType : int32_t {
  kFLOAT16 = 0,
  kFLOAT32 = 1,
  kFLOAT64 = 2,
  kINT8 = 3,
  kINT16 = 4,
  kINT32 = 5,
  kCHAR = 6,
  /// nvinfer1::Dims.
  kDIMS = 7,
  /// Bytes that mean something to the plugin only.
  kUNKNOWN = 8,
  kBF16 = 9,
  kINT64 = 10,
  kFP8 = 11,
  /// Two values a byte, the first in the low half; so is kFP4.
  kINT4 = 12,
  kFP4 = 13,
};

template <>
struct impl::EnumMaxImpl<PluginFieldType> {
  static constexpr int32_t kVALUE = 14;
};

/// One attribute: `length` values of `type` at `data`. Name and data stay whoever's they are.
class PluginField {
 public:
  const AsciiChar* name;
  const void* data;
  PluginFieldType type;
  int32_t length;

  PluginField(const AsciiChar* const name_ = nullptr, const void* const data_ = nullptr,
              const PluginFieldType type_ = PluginFieldType::kUNKNOWN, const int32_t length_ = 0) noexcept
      : name(name_), data(data_), type(type_), length(length_) {}
};

/// All attributes of a plugin.
struct PluginFieldCollection {
  int32_t nbFields;
  const PluginField* fields;
};

}  // namespace nvinfer1
