#include <algorithm>
#include <numeric>
#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void scatter_cases(CaseList& list) {
  // Distinct positions along an axis, so that the order of updates does not matter.
  const auto distinct = [&](int64_t count, int64_t extent) {
    std::vector<int64_t> all(static_cast<size_t>(extent));
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), list.rng());
    all.resize(static_cast<size_t>(count));
    return all;
  };
  list.add("scatter/none_nd_i4", "ScatterND",
           {list.random(DType::kI4, {6, 5}), HostTensor::from<int64_t>(distinct(3, 6), Dims{3, 1}),
            list.random(DType::kI4, {3, 5})},
           {});
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI8, DType::kI64, DType::kBool}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
      const std::string name = "scatter/" + std::string(reduction);
      // ScatterElements along axis 1: one permutation per row.
      HostTensor indices = *HostTensor::allocate(DType::kI64, {4, 3});
      for (int64_t r = 0; r < 4; ++r) {
        const std::vector<int64_t> row = distinct(3, 7);
        for (int64_t c = 0; c < 3; ++c) indices.set_i64(r * 3 + c, row[static_cast<size_t>(c)] - (c == 1 ? 7 : 0));
      }
      list.add(name + "_elements" + suffix, "ScatterElements",
               {list.random(dtype, {4, 7}), indices, list.random(dtype, {4, 3})},
               {{"axis", int64_t{1}}, {"reduction", std::string(reduction)}});
      const std::vector<int64_t> rows = distinct(3, 6);
      list.add(name + "_nd" + suffix, "ScatterND",
               {list.random(dtype, {6, 5}), HostTensor::from<int64_t>(rows, Dims{3, 1}), list.random(dtype, {3, 5})},
               {{"reduction", std::string(reduction)}});
    }
    list.add("scatter/cache" + suffix, "TensorScatter",
             {list.random(dtype, {2, 3, 8, 4}), list.random(dtype, {2, 3, 2, 4}),
              HostTensor::from<int64_t>(std::vector<int64_t>{3, 6}, Dims{2})});
    list.add("scatter/ring" + suffix, "TensorScatter",
             {list.random(dtype, {2, 8, 4}), list.random(dtype, {2, 3, 4}),
              HostTensor::from<int64_t>(std::vector<int64_t>{3, 7}, Dims{2})},
             {{"mode", std::string("circular")}});
  }
}

}  // namespace wootz::ops
