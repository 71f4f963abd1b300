// The floats of 8 bits that networks are quantized to.
#pragma once

#include "base/dtype.h"

namespace wootz {

inline bool is_fp8(DType type) { return type == DType::kF8E4M3 || type == DType::kF8E5M2; }
// These and the integers of 8 bits.
inline bool is_byte(DType type) { return is_int8(type) || is_fp8(type); }

}  // namespace wootz
