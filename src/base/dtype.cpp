#include "base/dtype.h"

#include <array>

namespace wootz {
namespace {

constexpr std::array<DTypeInfo, kDTypeCount> kTable{{
    {DType::kInvalid, "invalid", 0, false, false, false},
    {DType::kF32, "f32", 32, true, true, false},
    {DType::kF16, "f16", 16, true, true, false},
    {DType::kBF16, "bf16", 16, true, true, false},
    {DType::kF64, "f64", 64, true, true, false},
    {DType::kI8, "i8", 8, false, true, true},
    {DType::kU8, "u8", 8, false, false, true},
    {DType::kI16, "i16", 16, false, true, true},
    {DType::kU16, "u16", 16, false, false, true},
    {DType::kI32, "i32", 32, false, true, true},
    {DType::kU32, "u32", 32, false, false, true},
    {DType::kI64, "i64", 64, false, true, true},
    {DType::kU64, "u64", 64, false, false, true},
    {DType::kBool, "bool", 8, false, false, false},
    {DType::kF8E4M3, "f8e4m3", 8, true, true, false},
    {DType::kF8E4M3Fnuz, "f8e4m3fnuz", 8, true, true, false},
    {DType::kF8E5M2, "f8e5m2", 8, true, true, false},
    {DType::kF8E5M2Fnuz, "f8e5m2fnuz", 8, true, true, false},
    {DType::kF8E8M0, "f8e8m0", 8, true, false, false},
    {DType::kF4E2M1, "f4e2m1", 4, true, true, false},
    {DType::kI4, "i4", 4, false, true, true},
    {DType::kU4, "u4", 4, false, false, true},
    {DType::kI2, "i2", 2, false, true, true},
    {DType::kU2, "u2", 2, false, false, true},
    {DType::kString, "string", 0, false, false, false},
}};

constexpr bool table_in_order() {
  for (int i = 0; i < kDTypeCount; ++i)
    if (static_cast<int>(kTable[static_cast<size_t>(i)].dtype) != i) return false;
  return true;
}
static_assert(table_in_order(), "kTable is indexed by DType");

}  // namespace

const DTypeInfo& dtype_info(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  return kTable[index < kTable.size() ? index : 0];
}

DType dtype_from_name(std::string_view name) {
  for (const DTypeInfo& info : kTable)
    if (name == info.name) return info.dtype;
  return DType::kInvalid;
}

}  // namespace wootz
