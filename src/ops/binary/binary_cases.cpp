#include <cmath>
#include <string>

#include "ops/cases.h"

namespace wootz::ops {
namespace {

// Away from zero, for divisors.
HostTensor nonzero(CaseList& list, DType dtype, const Dims& dims) {
  HostTensor t = list.random(dtype, dims, 1, 5);
  if (is_float(dtype))
    for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, std::copysign(0.5 + std::abs(t.get_f64(i)), t.get_f64(i)));
  return t;
}

HostTensor positive(CaseList& list, DType dtype, const Dims& dims) {
  HostTensor t = nonzero(list, dtype, dims);
  if (is_float(dtype))
    for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, std::abs(t.get_f64(i)));
  return t;
}

}  // namespace

void binary_cases(CaseList& list) {
  const std::string prefix = "binary/";
  for (DType dtype :
       {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kU8, DType::kI32, DType::kI64}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    for (const char* name :
         {"Add", "Sub", "Mul", "Max", "Min", "PRelu", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
      list.add(prefix + name + suffix, name, {list.random(dtype, {2, 3, 17}), list.random(dtype, {2, 3, 17})});
      list.add(prefix + name + "_channel" + suffix, name,
               {list.random(dtype, {2, 3, 4, 5}), list.random(dtype, {3, 1, 1})});
    }
    list.add(prefix + "Div" + suffix, "Div", {list.random(dtype, {3, 17}), nonzero(list, dtype, {17})});
    list.add(prefix + "Mod" + suffix, "Mod", {list.random(dtype, {3, 17}), nonzero(list, dtype, {17})});
    list.add(prefix + "Fmod" + suffix, "Mod", {list.random(dtype, {3, 17}), nonzero(list, dtype, {17})},
             {{"fmod", int64_t{1}}});
  }
  for (DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    list.add(prefix + "Pow" + suffix, "Pow", {positive(list, dtype, {3, 11}), list.random(dtype, {3, 11})});
    list.add(prefix + "Pow_i32" + suffix, "Pow",
             {positive(list, dtype, {3, 11}), list.random(DType::kI32, {11}, 0, 3)});
  }
  list.add(prefix + "Pow_i32", "Pow", {list.random(DType::kI32, {3, 11}), list.random(DType::kI32, {3, 11}, 0, 3)});
  list.add(prefix + "Pow_i64_f32", "Pow", {list.random(DType::kI64, {7}, 1, 5), list.random(DType::kF32, {})});
  for (const char* name : {"And", "Or", "Xor", "Equal"})
    list.add(prefix + name + "_bool", name, {list.random(DType::kBool, {3, 1, 5}), list.random(DType::kBool, {4, 1})});
  for (DType dtype :
       {DType::kU8, DType::kI8, DType::kU16, DType::kI16, DType::kU32, DType::kI32, DType::kU64, DType::kI64}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    for (const char* name : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
      list.add(prefix + name + suffix, name, {list.random(dtype, {3, 5}, 0, 100), list.random(dtype, {5}, 0, 100)});
    for (const char* direction : {"LEFT", "RIGHT"})
      list.add(prefix + "BitShift_" + direction + suffix, "BitShift",
               {list.random(dtype, {3, 5}, -100, 100), list.random(dtype, {5}, -2, 70)},
               {{"direction", std::string(direction)}});
  }
  list.add(prefix + "Add_outer_f32", "Add", {list.random(DType::kF32, {5, 1}), list.random(DType::kF32, {1, 7})});
  list.add(prefix + "Add_scalar_f32", "Add", {list.random(DType::kF32, {}), list.random(DType::kF32, {3, 7})});
  list.add(prefix + "Mul_scalars_f32", "Mul", {list.random(DType::kF32, {}), list.random(DType::kF32, {})});
  list.add(prefix + "Add_empty_f32", "Add", {list.random(DType::kF32, {0, 4}), list.random(DType::kF32, {1, 4})});
}

}  // namespace wootz::ops
