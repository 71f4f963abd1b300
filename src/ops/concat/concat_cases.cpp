#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void concat_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kI64, DType::kBool, DType::kI4}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    for (int64_t axis : {0, 1, 2, -1}) {
      const size_t a = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
      std::vector<HostTensor> inputs;
      for (int64_t extent : {2, 1, 5}) {
        Dims dims{3, 4, 7};
        dims[a] = extent;
        inputs.push_back(list.random(dtype, dims));
      }
      list.add("concat/axis" + std::to_string(axis) + suffix, "Concat", std::move(inputs), {{"axis", axis}});
    }
    list.add("concat/one" + suffix, "Concat", {list.random(dtype, {3, 4})}, {{"axis", int64_t{0}}});
    list.add("concat/empty" + suffix, "Concat", {list.random(dtype, {0, 4}), list.random(dtype, {3, 4})},
             {{"axis", int64_t{0}}});
  }
  // Parts of whole bytes.
  list.add("concat/bytes_u4", "Concat", {list.random(DType::kU4, {3, 2, 8}), list.random(DType::kU4, {3, 3, 8})},
           {{"axis", int64_t{1}}});
  list.add("concat/pairs_u2", "Concat", {list.random(DType::kU2, {5, 3}), list.random(DType::kU2, {5, 4})},
           {{"axis", int64_t{1}}});
}

}  // namespace wootz::ops
