#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void cum_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kI64})
    for (const char* name : {"CumSum", "CumProd"})
      for (int64_t exclusive : {0, 1})
        for (int64_t reverse : {0, 1})
          list.add("cum/" + std::string(name) + (exclusive ? "_exclusive" : "") + (reverse ? "_reverse_" : "_") +
                       dtype_name(dtype),
                   name, {list.random(dtype, {3, 5, 4}, -3, 3)},
                   {{"axis", int64_t{1}}, {"exclusive", exclusive}, {"reverse", reverse}}, 1, {}, 5);
  list.add("cum/axis_input", "CumSum", {list.random(DType::kF32, {3, 5}), HostTensor::scalar<int32_t>(-1)}, {}, 1, {},
           5);
}

}  // namespace wootz::ops
