#include <string>

#include "ops/room_table.h"

namespace wootz::ops {

void topk_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kI64, DType::kU8})
    for (int64_t largest : {0, 1}) {
      const std::string suffix = std::string(largest ? "_largest_" : "_smallest_") + dtype_name(dtype);
      const AttrMap base{{"k", int64_t{3}}, {"largest", largest}};
      const auto along = [&](int64_t axis) {
        AttrMap attrs = base;
        attrs["axis"] = axis;
        return attrs;
      };
      list.add("topk/last" + suffix, "TopK", {list.random(dtype, {4, 65}, -20, 20)}, along(-1), 2);
      list.add("topk/first" + suffix, "TopK", {list.random(dtype, {9, 4, 3}, -20, 20)}, along(0), 2);
      list.add("topk/k_input" + suffix, "TopK", {list.random(dtype, {4, 9}, -20, 20), HostTensor::scalar<int64_t>(2).reshaped({1})},
               {{"largest", largest}}, 2);
    }
}

}  // namespace wootz::ops
