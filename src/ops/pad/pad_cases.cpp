#include <string>

#include "ops/cases.h"

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
  list.add("pad/negative_i4", "Pad", {list.random(DType::kI4, {3, 5})}, {{"pads", Ints{1, 1, 0, 1}}, {"value", -3.0}});
  list.add("pad/constant_f4e2m1", "Pad", {list.random(DType::kF4E2M1, {3, 5})},
           {{"pads", Ints{1, 1, 0, 1}}, {"value", -1.5}});
  list.add("pad/constant_f8e4m3", "Pad", {list.random(DType::kF8E4M3, {3, 5})},
           {{"pads", Ints{1, 1, 0, 1}}, {"value", 0.5}});
}

}  // namespace wootz::ops
