#include <string>
#include <vector>

#include "ops/cases.h"

namespace wootz::ops {

void det_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF64})
    list.add(std::string("det/batch_") + dtype_name(dtype), "Det", {list.random(dtype, {2, 3, 4, 4})});
  list.add("det/large", "Det", {list.random(DType::kF32, {2, 37, 37})});
  list.add("det/singular", "Det", {HostTensor::from<float>(std::vector<float>{1, 2, 2, 4}, Dims{2, 2})});
  list.add("det/one_f16", "Det", {list.random(DType::kF16, {3, 1, 1})});
}

}  // namespace wootz::ops
