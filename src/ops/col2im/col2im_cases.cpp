#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void col2im_cases(CaseList& list) {
  using Ints = std::vector<int64_t>;
  const auto ints = [](Ints v) { return HostTensor::from<int64_t>(v, Dims{static_cast<int64_t>(v.size())}); };
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI32}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    list.add("col2im/plain" + suffix, "Col2Im", {list.random(dtype, {2, 8, 16}), ints({5, 5}), ints({2, 2})}, {}, 1,
             {false, true, true}, 4);
    list.add("col2im/all" + suffix, "Col2Im", {list.random(dtype, {1, 9, 9}), ints({5, 6}), ints({3, 3})},
             {{"strides", Ints{2, 2}}, {"dilations", Ints{1, 1}}, {"pads", Ints{1, 1, 1, 0}}}, 1, {false, true, true},
             9);
  }
  list.add("col2im/line", "Col2Im", {list.random(DType::kF64, {2, 6, 4}), ints({11}), ints({3})},
           {{"strides", Ints{2}}, {"dilations", Ints{2}}, {"pads", Ints{0, 1}}}, 1, {false, true, true}, 3);
  list.add("col2im/volume", "Col2Im", {list.random(DType::kBF16, {1, 16, 12}), ints({3, 4, 3}), ints({2, 2, 2})}, {}, 1,
           {false, true, true}, 8);
}

}  // namespace wootz::ops
