#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void expand_cases(CaseList& list) {
  const auto shape = [](std::vector<int64_t> v) {
    return HostTensor::from<int64_t>(v, Dims{static_cast<int64_t>(v.size())});
  };
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI8, DType::kI64, DType::kBool, DType::kU4}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    list.add("expand/middle" + suffix, "Expand", {list.random(dtype, {3, 1, 5}), shape({3, 4, 5})}, {}, 1,
             {false, true});
    list.add("expand/last" + suffix, "Expand", {list.random(dtype, {3, 1}), shape({3, 7})}, {}, 1, {false, true});
    list.add("expand/new_axes" + suffix, "Expand", {list.random(dtype, {3, 1}), shape({2, 1, 6})}, {}, 1,
             {false, true});
    list.add("expand/shape_input" + suffix, "Expand", {list.random(dtype, {}), shape({2, 3})});
  }
}

}  // namespace wootz::ops
