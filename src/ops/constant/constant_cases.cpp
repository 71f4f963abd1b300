#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void constant_cases(CaseList& list) {
  const HostTensor shape = HostTensor::from<int64_t>(std::vector<int64_t>{3, 5}, Dims{2});
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI64, DType::kBool, DType::kU4})
    list.add(std::string("constant/of_shape_") + dtype_name(dtype), "ConstantOfShape", {shape},
             {{"value", list.random(dtype, {1})}});
  list.add("constant/zeros", "ConstantOfShape", {shape}, {}, 1, {true});
}

}  // namespace wootz::ops
