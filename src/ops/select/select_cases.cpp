#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void select_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kU8, DType::kI32,
                      DType::kI64, DType::kBool}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    list.add("select/same" + suffix, "Where",
             {list.random(DType::kBool, {3, 19}), list.random(dtype, {3, 19}), list.random(dtype, {3, 19})});
    list.add("select/mask" + suffix, "Where",
             {list.random(DType::kBool, {2, 1, 5, 5}), list.random(dtype, {2, 3, 5, 5}), list.random(dtype, {})});
    list.add("select/outer" + suffix, "Where",
             {list.random(DType::kBool, {4, 1, 1}), list.random(dtype, {3, 1}), list.random(dtype, {5})});
  }
}

}  // namespace wootz::ops
