// Element types. One table (dtype.cpp) answers everything the rest of the system asks about a type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wootz {

enum class DType : uint8_t {
  kInvalid,
  kF32,
  kF16,
  kBF16,
  kF64,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool,
  kF8E4M3,
  kF8E4M3Fnuz,
  kF8E5M2,
  kF8E5M2Fnuz,
  kF8E8M0,
  kF4E2M1,
  kI4,
  kU4,
  kI2,
  kU2,
  kString,  // no storage in tensors yet: importers refuse it by name
};
inline constexpr int kDTypeCount = static_cast<int>(DType::kString) + 1;

struct DTypeInfo {
  DType dtype;
  const char* name;  // as in text form and messages: "f32", "i64", "bool"
  int bits;
  bool is_float;  // any floating-point format
  bool is_signed;
  bool is_integer;  // bool is not an integer here
};

const DTypeInfo& dtype_info(DType dtype);
inline const char* dtype_name(DType dtype) { return dtype_info(dtype).name; }
// kInvalid when no type has that name.
DType dtype_from_name(std::string_view name);
inline bool is_float(DType dtype) { return dtype_info(dtype).is_float; }
// Floats that models compute in, not FP64 and none that values are only quantized to.
inline bool is_model_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}
inline bool is_integer(DType dtype) { return dtype_info(dtype).is_integer; }
inline bool is_int8(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }
inline int dtype_bits(DType dtype) { return dtype_info(dtype).bits; }
// What weights of 4 and 8 bits that stay packed may be, and the scales of their blocks.
inline bool is_packed_weight(DType dtype) {
  return dtype == DType::kI4 || dtype == DType::kU4 || is_int8(dtype) || dtype == DType::kF4E2M1 ||
         dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2;
}
inline bool is_packed_scale(DType dtype) {
  return is_model_float(dtype) || dtype == DType::kF8E4M3 || dtype == DType::kF8E8M0;
}
// Bytes that `count` packed elements take; sub-byte types are packed low nibble (pair, ...) first.
inline size_t dtype_bytes(DType dtype, int64_t count) {
  return (static_cast<size_t>(count) * static_cast<size_t>(dtype_bits(dtype)) + 7) / 8;
}

// C++ type -> DType for the plain types.
template <DType kValue>
struct DTypeConstant {
  static constexpr DType value = kValue;
};
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> : DTypeConstant<DType::kF32> {};
template <>
struct DTypeOf<double> : DTypeConstant<DType::kF64> {};
template <>
struct DTypeOf<int8_t> : DTypeConstant<DType::kI8> {};
template <>
struct DTypeOf<uint8_t> : DTypeConstant<DType::kU8> {};
template <>
struct DTypeOf<int16_t> : DTypeConstant<DType::kI16> {};
template <>
struct DTypeOf<uint16_t> : DTypeConstant<DType::kU16> {};
template <>
struct DTypeOf<int32_t> : DTypeConstant<DType::kI32> {};
template <>
struct DTypeOf<uint32_t> : DTypeConstant<DType::kU32> {};
template <>
struct DTypeOf<int64_t> : DTypeConstant<DType::kI64> {};
template <>
struct DTypeOf<uint64_t> : DTypeConstant<DType::kU64> {};
template <>
struct DTypeOf<bool> : DTypeConstant<DType::kBool> {};

}  // namespace wootz
