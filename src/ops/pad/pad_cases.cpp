#include <string>

#include "ops/room_table.h"

namespace wootz::ops {

void pad_cases(CaseList& list) {
  using Ints = std::vector<int64_t>;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kI64, DType::kBool, DType::kI4}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    const HostTensor x = list.random(dtype, {2, 3, 4, 5});
    list.add("pad/constant" + suffix, "Pad", {x}, {{"pads", Ints{0, 0, 1, 2, 0, 1, 3, 0}}, {"value", 1.0}});
    list.add("pad/crop" + suffix, "Pad", {x}, {{"pads", Ints{0, -1, -1, 2, 0, 1, 0, -2}}});
    for (const char* mode : {"edge", "reflect", "wrap"})
      list.add("pad/" + std::string(mode) + suffix, "Pad", {x},
               {{"pads", Ints{0, 1, 2, 3, 0, 2, 1, 0}}, {"mode", std::string(mode)}});
    list.add("pad/inputs" + suffix, "Pad",
             {x, HostTensor::from<int64_t>(Ints{1, 2, 0, 1}, Dims{4}), list.random(dtype, {}),
              HostTensor::from<int64_t>(Ints{-1, 1}, Dims{2})});
  }
}

}  // namespace wootz::ops
