#include <cmath>
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
  // Logits close to each other, and such that are equal or so far apart that the lesser probabilities are 0, and not
  // denormal numbers, which a kernel may take for 0: the order of equal ones is that of the indices.
  const auto logits = [&](DType dtype, const Dims& dims, bool wide) {
    HostTensor x = list.random(dtype, dims, -3, 3);
    for (int64_t i = 0; wide && i < x.volume(); ++i) x.set_f64(i, 150 * std::round(x.get_f64(i)));
    return x;
  };
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
    for (const bool wide : {false, true}) {
      const std::string suffix = std::string(wide ? "_wide_" : "_") + dtype_name(dtype);
      const AttrMap attrs{{"k", int64_t{3}}, {"softmax", int64_t{1}}};
      list.add("topk/softmax_last" + suffix, "TopK", {logits(dtype, {4, 65}, wide)}, attrs, 2);
      AttrMap first = attrs;
      first["axis"] = int64_t{0};
      first["largest"] = int64_t{wide};
      list.add("topk/softmax_first" + suffix, "TopK", {logits(dtype, {9, 4, 3}, wide)}, first, 2);
    }
}

}  // namespace wootz::ops
