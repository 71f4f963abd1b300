#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void arg_reduce_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kI64, DType::kU8})
    for (const char* kind : {"argmax", "argmin"}) {
      const std::string suffix = std::string("_") + kind + "_" + dtype_name(dtype);
      const auto attrs = [&](int64_t axis, int64_t keep, int64_t last) {
        return AttrMap{{"kind", std::string(kind)}, {"axis", axis}, {"keepdims", keep}, {"select_last", last}};
      };
      list.add("arg_reduce/last" + suffix, "ArgReduce", {list.random(dtype, {5, 33}, -20, 20)}, attrs(-1, 0, 0));
      list.add("arg_reduce/first" + suffix, "ArgReduce", {list.random(dtype, {7, 3, 4}, -20, 20)}, attrs(0, 1, 0));
      list.add("arg_reduce/ties" + suffix, "ArgReduce", {list.random(dtype, {4, 17, 2}, -2, 2)}, attrs(1, 1, 1));
    }
}

}  // namespace wootz::ops
