#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void transpose_cases(CaseList& list) {
  const std::vector<std::vector<int64_t>> perms = {
      {1, 0}, {0, 2, 1}, {2, 0, 1}, {0, 2, 3, 1}, {0, 3, 1, 2}, {3, 2, 1, 0}, {0, 2, 1, 3}, {1, 0, 2, 3, 4}, {0, 1, 2}};
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kI64, DType::kI4})
    for (const std::vector<int64_t>& perm : perms) {
      std::string name = "transpose/";
      Dims dims;
      for (size_t i = 0; i < perm.size(); ++i) {
        name += std::to_string(perm[i]);
        dims.push_back(static_cast<int64_t>(3 + 5 * (i % 3)));
      }
      list.add(name + "_" + dtype_name(dtype), "Transpose", {list.random(dtype, dims)}, {{"perm", perm}});
    }
}

}  // namespace wootz::ops
