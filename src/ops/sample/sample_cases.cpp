#include "ops/cases.h"

namespace wootz::ops {

void sample_cases(CaseList& list) {
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const int64_t align : {0, 1})
        list.add(std::string("sample/grid_") + mode + "_" + padding + (align ? "_corners" : ""), "GridSample",
                 {list.random(DType::kF32, {2, 3, 5, 6}), list.random(DType::kF32, {2, 4, 3, 2})},
                 {{"mode", std::string(mode)}, {"padding_mode", std::string(padding)}, {"align_corners", align}});
  list.add("sample/grid_volume", "GridSample",
           {list.random(DType::kF32, {1, 2, 3, 4, 5}), list.random(DType::kF32, {1, 2, 3, 2, 3})});
  const int64_t size[] = {2, 3, 5, 4};
  for (const int64_t align : {0, 1})
    list.add(std::string("sample/affine_grid") + (align ? "_corners" : ""), "AffineGrid",
             {list.random(DType::kF32, {2, 2, 3}), HostTensor::from<int64_t>(size, {4})}, {{"align_corners", align}}, 1,
             {false, true});
  list.add(
      "sample/deform_conv", "DeformConv",
      {list.random(DType::kF32, {2, 4, 6, 7}), list.random(DType::kF32, {6, 2, 3, 3}),
       list.random(DType::kF32, {2, 36, 6, 7}), list.random(DType::kF32, {6}), list.random(DType::kF32, {2, 18, 6, 7})},
      {{"pads", std::vector<int64_t>{1, 1, 1, 1}}, {"groups", int64_t{2}}, {"offset_groups", int64_t{2}}}, 1, {}, 18);
  list.add("sample/deform_conv_plain", "DeformConv",
           {list.random(DType::kF16, {1, 3, 9, 8}), list.random(DType::kF16, {5, 3, 2, 3}),
            list.random(DType::kF16, {1, 12, 4, 3})},
           {{"strides", std::vector<int64_t>{2, 2}}, {"dilations", std::vector<int64_t>{1, 1}}}, 1, {}, 18);
  list.add("sample/deform_conv_line", "DeformConv",
           {list.random(DType::kF64, {2, 4, 12}), list.random(DType::kF64, {16, 4, 3}),
            list.random(DType::kF64, {2, 3, 10}), list.random(DType::kF64, {16})},
           {{"dilations", std::vector<int64_t>{2}}, {"pads", std::vector<int64_t>{1, 1}}}, 1, {}, 12);
}

}  // namespace wootz::ops
