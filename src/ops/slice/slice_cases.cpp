#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void slice_cases(CaseList& list) {
  using Ints = std::vector<int64_t>;
  const auto attrs = [](Ints starts, Ints ends, Ints axes, Ints steps) {
    return AttrMap{{"starts", std::move(starts)},
                   {"ends", std::move(ends)},
                   {"axes", std::move(axes)},
                   {"steps", std::move(steps)}};
  };
  for (DType dtype :
       {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kI64, DType::kBool, DType::kI4}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    const HostTensor x = list.random(dtype, {6, 9, 11});
    list.add("slice/middle" + suffix, "Slice", {x}, attrs({1, 2}, {5, -1}, {0, 2}, {1, 1}));
    list.add("slice/steps" + suffix, "Slice", {x}, attrs({0, 1}, {6, 100}, {0, -1}, {2, 3}));
    list.add("slice/backwards" + suffix, "Slice", {x}, attrs({-1, 7}, {INT64_MIN, 0}, {0, 1}, {-1, -2}));
    list.add("slice/empty" + suffix, "Slice", {x}, attrs({3}, {2}, {1}, {1}));
    list.add("slice/inputs" + suffix, "Slice",
             {x, HostTensor::from<int64_t>(Ints{1, 0}, Dims{2}), HostTensor::from<int64_t>(Ints{4, 8}, Dims{2})});
  }
}

}  // namespace wootz::ops
