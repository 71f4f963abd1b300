#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void eye_like_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI64, DType::kBool})
    for (int64_t k : {-1, 0, 2})
      list.add("eye_like/" + std::to_string(k) + "_" + dtype_name(dtype), "EyeLike", {list.random(DType::kI32, {3, 5})},
               {{"k", k}, {"dtype", std::string(dtype_name(dtype))}});
}

}  // namespace wootz::ops
