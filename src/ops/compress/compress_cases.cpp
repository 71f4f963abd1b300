#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void compress_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI64}) {
    list.add(std::string("compress/axis_") + dtype_name(dtype), "Compress",
             {list.random(dtype, {3, 4, 5}), list.random(DType::kBool, {4})}, {{"axis", int64_t{1}}});
    list.add(std::string("compress/flat_") + dtype_name(dtype), "Compress",
             {list.random(dtype, {3, 4}), list.random(DType::kBool, {9})});
  }
}

}  // namespace wootz::ops
