#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void gather_cases(CaseList& list) {
  const auto below = [&](DType dtype, const Dims& dims, int64_t extent) {
    HostTensor t = *HostTensor::allocate(dtype, dims);
    std::uniform_int_distribution<int64_t> index(-extent, extent - 1);
    for (int64_t i = 0; i < t.volume(); ++i) t.set_i64(i, index(list.rng()));
    return t;
  };
  for (DType dtype :
       {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kI64, DType::kBool, DType::kI4}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    for (int64_t axis : {0, 1, -1}) {
      const int64_t extent = axis == 0 ? 5 : axis == 1 ? 6 : 7;
      list.add("gather/axis" + std::to_string(axis) + suffix, "Gather",
               {list.random(dtype, {5, 6, 7}), below(DType::kI64, {2, 3}, extent)}, {{"axis", axis}});
      list.add("gather/elements" + std::to_string(axis) + suffix, "GatherElements",
               {list.random(dtype, {5, 6, 7}), below(DType::kI32, {5, 6, 7}, extent)}, {{"axis", axis}});
    }
    list.add("gather/scalar" + suffix, "Gather", {list.random(dtype, {5, 6}), below(DType::kI64, {}, 5)},
             {{"axis", int64_t{0}}});
    list.add("gather/nd" + suffix, "GatherND", {list.random(dtype, {5, 5, 3}), below(DType::kI64, {4, 2}, 5)});
    list.add("gather/nd_batch" + suffix, "GatherND",
             {list.random(dtype, {2, 5, 5, 3}), below(DType::kI64, {2, 4, 1}, 5)}, {{"batch_dims", int64_t{1}}});
  }
  list.add("gather/embedding_f32", "Gather", {list.random(DType::kF32, {100, 64}), below(DType::kI64, {2, 17}, 100)},
           {{"axis", int64_t{0}}}, 1, {true, false});
}

}  // namespace wootz::ops
