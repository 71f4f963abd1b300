#include <string>

#include "ops/room_table.h"

namespace wootz::ops {

void cast_cases(CaseList& list) {
  const DType plain[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8,
                         DType::kU8,  DType::kI32, DType::kI64,  DType::kU32, DType::kBool};
  for (DType from : plain)
    for (DType to : plain) {
      if (from == to) continue;
      HostTensor x = list.random(from, {3, 19});
      // A negative float has no value in an unsigned type: kernels may differ there.
      if (is_float(from) && is_integer(to) && !dtype_info(to).is_signed)
        for (int64_t i = 0; i < x.volume(); ++i) x.set_f64(i, x.get_f64(i) < 0 ? -x.get_f64(i) : x.get_f64(i));
      list.add(std::string("cast/") + dtype_name(from) + "_to_" + dtype_name(to), "Cast", {x},
               {{"to", std::string(dtype_name(to))}});
    }
  for (DType narrow : {DType::kF8E4M3, DType::kF8E4M3Fnuz, DType::kF8E5M2, DType::kF8E5M2Fnuz, DType::kF4E2M1,
                       DType::kI4, DType::kU4, DType::kI2, DType::kU2}) {
    const double top = dtype_bits(narrow) == 2 ? 1 : 7;
    const double bottom = dtype_info(narrow).is_signed ? -top : 0;
    list.add(std::string("cast/f32_to_") + dtype_name(narrow), "Cast", {list.random(DType::kF32, {5, 7})},
             {{"to", std::string(dtype_name(narrow))}});
    list.add(std::string("cast/i32_to_") + dtype_name(narrow), "Cast", {list.random(DType::kI32, {5, 7}, bottom, top)},
             {{"to", std::string(dtype_name(narrow))}});
    list.add(std::string("cast/f16_from_") + dtype_name(narrow), "Cast", {list.random(narrow, {5, 7}, bottom, top)},
             {{"to", std::string("f16")}});
  }
  for (const char* mode : {"up", "down", "nearest"})
    list.add(std::string("cast/f32_to_f8e8m0_") + mode, "CastE8M0", {list.random(DType::kF32, {5, 7})},
             {{"round_mode", std::string(mode)}});
  list.add("cast/bits_f32_to_i32", "BitCast", {list.random(DType::kF32, {5, 7})}, {{"to", std::string("i32")}});
  list.add("cast/bits_i4_to_u4", "BitCast", {list.random(DType::kI4, {3, 3})}, {{"to", std::string("u4")}});
}

}  // namespace wootz::ops
