#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void range_cases(CaseList& list) {
  const auto number = [](DType dtype, double v) {
    HostTensor t = *HostTensor::allocate(dtype, {});
    t.set_f64(0, v);
    return t;
  };
  for (DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kI32, DType::kI64}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    list.add("range/up" + suffix, "Range", {number(dtype, 1), number(dtype, 20), number(dtype, 3)}, {}, 1,
             {true, true, true});
    list.add("range/down" + suffix, "Range", {number(dtype, 10), number(dtype, -6), number(dtype, -3)}, {}, 1,
             {true, true, true});
    list.add("range/none" + suffix, "Range", {number(dtype, 10), number(dtype, 6), number(dtype, 3)}, {}, 1,
             {true, true, true});
  }
  list.add("range/inputs_i64", "Range", {number(DType::kI64, 2), number(DType::kI64, 9), number(DType::kI64, 2)});
}

}  // namespace wootz::ops
