#include <string>

#include "ops/room_table.h"

namespace wootz::ops {

void det_cases(CaseList& list) {
  for (DType dtype : {DType::kF32, DType::kF64})
    list.add(std::string("det/batch_") + dtype_name(dtype), "Det", {list.random(dtype, {2, 3, 4, 4})});
}

}  // namespace wootz::ops
