#include "ops/cases.h"

namespace wootz::ops {

void experts_cases(CaseList& list) {
  const auto experts = [&](DType type, const Dims& dims, int64_t least, int64_t most) {
    HostTensor t = *HostTensor::allocate(type, dims);
    std::uniform_int_distribution<int64_t> number(least, most);
    for (int64_t i = 0; i < t.volume(); ++i) t.set_i64(i, number(list.rng()));
    return t;
  };
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16})
    for (const bool constant : {false, true}) {
      const std::string suffix = std::string("_") + dtype_name(type) + (constant ? "_constant" : "");
      const std::vector<bool> constants{false, false, constant, constant};
      list.add("experts/shared_rows" + suffix, "ExpertProduct",
               {list.random(type, {2, 3, 20}), experts(DType::kI32, {2, 3, 2}, 0, 3), list.random(type, {4, 20, 37}),
                list.random(type, {4, 37})},
               {}, 1, constants, 20);
      list.add("experts/own_rows" + suffix, "ExpertProduct",
               {list.random(type, {5, 2, 20}), experts(DType::kI64, {5, 2}, -1, 4), list.random(type, {4, 20, 9})}, {},
               1, {false, false, constant}, 20);
    }
  list.add("experts/f64", "ExpertProduct",
           {list.random(DType::kF64, {5, 6}), experts(DType::kI32, {5, 2}, 0, 1), list.random(DType::kF64, {2, 6, 9})},
           {}, 1, {}, 6);
  list.add("experts/many_rows", "ExpertProduct",
           {list.random(DType::kF32, {150, 33}), experts(DType::kI32, {150, 2}, 0, 1),
            list.random(DType::kF32, {3, 33, 70})},
           {}, 1, {false, false, true}, 33);
}

}  // namespace wootz::ops
