#include <string>

#include "ops/cases.h"

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
      list.add("topk/k_input" + suffix, "TopK",
               {list.random(dtype, {4, 9}, -20, 20), HostTensor::scalar<int64_t>(2).reshaped({1})},
               {{"largest", largest}}, 2);
    }
  // Rows of equal probabilities, and logits so far apart that most probabilities are 0: their order is that of the
  // indices.
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
    for (double spread : {3.0, 500.0}) {
      const std::string suffix = std::string(spread > 3 ? "_wide_" : "_") + dtype_name(dtype);
      const AttrMap attrs{{"k", int64_t{3}}, {"softmax", int64_t{1}}};
      list.add("topk/softmax_last" + suffix, "TopK", {list.random(dtype, {4, 65}, -spread, spread)}, attrs, 2);
      AttrMap first = attrs;
      first["axis"] = int64_t{0};
      first["largest"] = int64_t{spread > 3};
      list.add("topk/softmax_first" + suffix, "TopK", {list.random(dtype, {9, 4, 3}, -spread, spread)}, first, 2);
    }
}

}  // namespace wootz::ops
