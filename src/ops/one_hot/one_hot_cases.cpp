#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void one_hot_cases(CaseList& list) {
  const HostTensor depth = HostTensor::scalar<int64_t>(7);
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kBool})
    for (int64_t axis : {-1, 0, 1})
      list.add("one_hot/axis" + std::to_string(axis) + "_" + dtype_name(dtype), "OneHot",
               {list.random(DType::kI64, {3, 5}, -9, 9), depth, list.random(dtype, {2})}, {{"axis", axis}}, 1,
               {false, true, false});
}

}  // namespace wootz::ops
