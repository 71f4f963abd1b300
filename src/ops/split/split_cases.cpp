#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void split_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI8, DType::kI64, DType::kI4}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    list.add("split/equal" + suffix, "Split", {list.random(dtype, {3, 6, 5})}, {{"axis", int64_t{1}}}, 3);
    list.add("split/sizes" + suffix, "Split", {list.random(dtype, {3, 7})},
             {{"axis", int64_t{-1}}, {"split", std::vector<int64_t>{2, 0, 5}}}, 3);
    list.add("split/uneven" + suffix, "Split", {list.random(dtype, {7, 3})}, {{"uneven", int64_t{1}}}, 4);
    list.add("split/input" + suffix, "Split",
             {list.random(dtype, {7, 3}), HostTensor::from<int64_t>(std::vector<int64_t>{3, 4}, Dims{2})}, {}, 2);
  }
}

}  // namespace wootz::ops
