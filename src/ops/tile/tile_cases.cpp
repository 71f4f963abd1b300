#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void tile_cases(CaseList& list) {
  using Ints = std::vector<int64_t>;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI8, DType::kI64, DType::kBool, DType::kU4}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    list.add("tile/attr" + suffix, "Tile", {list.random(dtype, {2, 3, 5})}, {{"repeats", Ints{2, 1, 3}}});
    list.add("tile/input" + suffix, "Tile",
             {list.random(dtype, {2, 3}), HostTensor::from<int64_t>(Ints{1, 4}, Dims{2})});
    list.add("tile/none" + suffix, "Tile", {list.random(dtype, {2, 3})}, {{"repeats", Ints{0, 2}}});
  }
}

}  // namespace wootz::ops
