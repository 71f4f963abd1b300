#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void non_zero_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kBool})
    list.add(std::string("non_zero/") + dtype_name(dtype), "NonZero", {list.random(dtype, {3, 4, 5}, -1, 1)});
}

}  // namespace wootz::ops
