// DataType: types of tensor elements and weights.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

enum class DataType : int32_t {
  kFLOAT = 0,
  kHALF = 1,
  kINT8 = 2,
  kINT32 = 3,
  kBOOL = 4,
  kUINT8 = 5,
  kFP8 = 6,
  kBF16 = 7,
  kINT64 = 8,
  kINT4 = 9,
  kFP4 = 10,
  kE8M0 = 11,
};

template <>
struct impl::EnumMaxImpl<DataType> {
  static constexpr int32_t kVALUE = 12;
};

}  // namespace nvinfer1
