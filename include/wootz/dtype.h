// DataType: types of tensor elements and weights.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

/// Type of an element. Types under a byte are packed, two elements a byte, the first in the low half.
enum class DataType : int32_t {
  /// IEEE 32-bit.
  kFLOAT = 0,
  /// IEEE 16-bit.
  kHALF = 1,
  /// 8-bit signed integer; as a quantized value it stands for value * scale.
  kINT8 = 2,
  /// 32-bit signed integer.
  kINT32 = 3,
  /// One byte, 0 or 1.
  kBOOL = 4,
  /// 8-bit unsigned integer; at the network's edges, to be cast inside.
  kUINT8 = 5,
  /// 8-bit float with 4 exponent and 3 mantissa bits (E4M3, no infinities).
  kFP8 = 6,
  /// The upper half of an IEEE 32-bit float.
  kBF16 = 7,
  /// 64-bit signed integer.
  kINT64 = 8,
  /// 4-bit signed integer, for weights.
  kINT4 = 9,
  /// 4-bit float with 2 exponent bits and 1 mantissa bit (E2M1).
  kFP4 = 10,
  /// 8-bit power of two: a block scale of the MX formats.
  kE8M0 = 11,
};

template <>
struct impl::EnumMaxImpl<DataType> {
  static constexpr int32_t kVALUE = 12;
};

}  // namespace nvinfer1
