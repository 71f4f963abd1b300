// From a register type to the C++ type of its elements.
#pragma once

#include <cstdint>

#include "backends/cpu/pointwise/ops.h"

namespace wootz::cpu {

// Calls f with a value of the C++ type of a register type; a bool is a byte. Null for any other type.
template <class Fn>
OpFn with_type(DType type, Fn f) {
  switch (type) {
    case DType::kF32: return f(float());
    case DType::kF64: return f(double());
    case DType::kI8: return f(int8_t());
    case DType::kU8:
    case DType::kBool: return f(uint8_t());
    case DType::kI16: return f(int16_t());
    case DType::kU16: return f(uint16_t());
    case DType::kI32: return f(int32_t());
    case DType::kU32: return f(uint32_t());
    case DType::kI64: return f(int64_t());
    case DType::kU64: return f(uint64_t());
    default: return nullptr;
  }
}

}  // namespace wootz::cpu
