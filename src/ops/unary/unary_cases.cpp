#include <cmath>
#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void unary_cases(CaseList& list) {
  const auto positive = [&](DType dtype, const Dims& dims, double from) {
    HostTensor t = list.random(dtype, dims);
    for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, from + std::abs(t.get_f64(i)));
    return t;
  };
  const auto bounded = [&](DType dtype, const Dims& dims) {
    HostTensor t = list.random(dtype, dims);
    for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, 0.95 * std::tanh(t.get_f64(i)));
    return t;
  };
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    for (const char* name : {"Abs", "Asinh", "Atan", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "IsInf", "IsNaN",
                             "Neg", "Round", "Sign", "Sin", "Sinh"})
      list.add("unary/" + std::string(name) + suffix, name, {list.random(dtype, {3, 17})});
    for (const char* name : {"Log", "Reciprocal", "Sqrt"})
      list.add("unary/" + std::string(name) + suffix, name, {positive(dtype, {2, 5, 7}, 0.25)});
    list.add("unary/Acosh" + suffix, "Acosh", {positive(dtype, {31}, 1.25)});
    for (const char* name : {"Acos", "Asin", "Atanh", "Tan"})
      list.add("unary/" + std::string(name) + suffix, name, {bounded(dtype, {4, 9})});
  }
  for (DType dtype : {DType::kI8, DType::kI16, DType::kI32, DType::kI64})
    for (const char* name : {"Abs", "Neg", "Sign", "BitwiseNot"})
      list.add("unary/" + std::string(name) + "_" + dtype_name(dtype), name, {list.random(dtype, {2, 3, 5})});
  for (DType dtype : {DType::kU8, DType::kU16, DType::kU32, DType::kU64})
    for (const char* name : {"Sign", "BitwiseNot"})
      list.add("unary/" + std::string(name) + "_" + dtype_name(dtype), name, {list.random(dtype, {11})});
  list.add("unary/Not_bool", "Not", {list.random(DType::kBool, {2, 9})});
  list.add("unary/Exp_scalar", "Exp", {list.random(DType::kF32, {})});
  list.add("unary/Exp_empty", "Exp", {list.random(DType::kF32, {0, 3})});
}

}  // namespace wootz::ops
