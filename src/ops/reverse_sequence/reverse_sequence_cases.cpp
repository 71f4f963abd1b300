#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void reverse_sequence_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI64})
    for (int64_t time : {0, 1})
      list.add("reverse_sequence/time" + std::to_string(time) + "_" + dtype_name(dtype), "ReverseSequence",
               {list.random(dtype, {4, 4, 3}), HostTensor::from<int64_t>(std::vector<int64_t>{0, 4, 2, 1}, Dims{4})},
               {{"time_axis", time}, {"batch_axis", 1 - time}});
}

}  // namespace wootz::ops
