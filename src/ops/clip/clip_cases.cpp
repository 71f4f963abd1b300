#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void clip_cases(CaseList& list) {
  for (DType dtype :
       {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kU8, DType::kI32, DType::kI64}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    HostTensor low = *HostTensor::allocate(dtype, {}), high = *HostTensor::allocate(dtype, {});
    low.set_i64(0, 1);
    high.set_i64(0, 3);
    list.add("clip/attrs" + suffix, "Clip", {list.random(dtype, {3, 17})}, {{"min", 0.0}, {"max", 2.0}});
    list.add("clip/low" + suffix, "Clip", {list.random(dtype, {3, 17})}, {{"min", 1.0}});
    list.add("clip/inputs" + suffix, "Clip", {list.random(dtype, {3, 17}), low, high});
    list.add("clip/high_input" + suffix, "Clip", {list.random(dtype, {3, 17}), HostTensor(), high});
    list.add("clip/mixed" + suffix, "Clip", {list.random(dtype, {5}), low}, {{"max", 2.0}});
  }
}

}  // namespace wootz::ops
