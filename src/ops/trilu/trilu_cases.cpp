#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void trilu_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI64, DType::kBool})
    for (int64_t upper : {0, 1})
      for (int64_t k : {-2, 0, 3})
        list.add(std::string("trilu/") + (upper ? "upper_" : "lower_") + std::to_string(k) + "_" + dtype_name(dtype),
                 "Trilu", {list.random(dtype, {2, 5, 7})}, {{"upper", upper}, {"k", k}});
  list.add("trilu/k_input", "Trilu", {list.random(DType::kF32, {4, 4}), HostTensor::scalar<int64_t>(1)});
}

}  // namespace wootz::ops
