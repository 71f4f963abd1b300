#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void reshape_cases(CaseList& list) {
  const auto shape = [](std::vector<int64_t> v) {
    return HostTensor::from<int64_t>(v, Dims{static_cast<int64_t>(v.size())});
  };
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI64, DType::kBool, DType::kU4}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    list.add("reshape/constant" + suffix, "Reshape", {list.random(dtype, {2, 3, 4}), shape({0, -1})}, {}, 1,
             {false, true});
    list.add("reshape/input" + suffix, "Reshape", {list.random(dtype, {2, 3, 4}), shape({4, 6})});
    list.add("reshape/flatten" + suffix, "Flatten", {list.random(dtype, {2, 3, 4})}, {{"axis", int64_t{2}}});
    list.add("reshape/squeeze" + suffix, "Squeeze", {list.random(dtype, {1, 3, 1, 4})},
             {{"axes", std::vector<int64_t>{0, -2}}});
    list.add("reshape/unsqueeze" + suffix, "Unsqueeze", {list.random(dtype, {3, 4})},
             {{"axes", std::vector<int64_t>{0, -1}}});
  }
  list.add("reshape/empty", "Reshape", {list.random(DType::kF32, {0, 4}), shape({2, 0, 3})},
           {{"allowzero", int64_t{1}}}, 1, {false, true});
}

}  // namespace wootz::ops
