#include <string>

#include "ops/cases.h"

namespace wootz::ops {

void center_crop_pad_cases(CaseList& list) {
  using Ints = std::vector<int64_t>;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kU8}) {
    const std::string suffix = std::string("_") + dtype_name(dtype);
    list.add("center_crop_pad/both" + suffix, "CenterCropPad",
             {list.random(dtype, {9, 4, 3}), HostTensor::from<int64_t>(Ints{6, 7, 3}, Dims{3})}, {}, 1, {false, true});
    list.add("center_crop_pad/axes" + suffix, "CenterCropPad",
             {list.random(dtype, {3, 8, 9}), HostTensor::from<int64_t>(Ints{4, 12}, Dims{2})}, {{"axes", Ints{-2, 2}}});
  }
}

}  // namespace wootz::ops
