#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void identity_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI64, DType::kBool, DType::kI4})
    list.add(std::string("identity/") + dtype_name(dtype), "Identity", {list.random(dtype, {3, 5})});
}

}  // namespace wootz::ops
