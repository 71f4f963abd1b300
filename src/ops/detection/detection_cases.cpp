#include "ops/room_table.h"

namespace wootz::ops {

void detection_cases(CaseList& list) {
  const float rois[] = {0, 0, 5, 5, 1, 2, 4, 7, 3, 3, 9, 8};
  const int64_t images[] = {0, 1, 1};
  for (const char* mode : {"avg", "max"})
    for (const int64_t half : {0, 1})
      list.add(std::string("detection/roi_align_") + mode + (half ? "_half_pixel" : ""), "RoiAlign",
               {list.random(DType::kF32, {2, 3, 10, 9}), HostTensor::from<float>(rois, {3, 4}),
                HostTensor::from<int64_t>(images, {3})},
               {{"mode", std::string(mode)},
                {"output_height", int64_t{3}},
                {"output_width", int64_t{2}},
                {"spatial_scale", 0.8},
                {"half_pixel", half}});
  const float pooled[] = {0, 1, 1, 6, 5, 1, 0, 2, 8, 9};
  list.add("detection/max_roi_pool", "MaxRoiPool",
           {list.random(DType::kF32, {2, 3, 10, 9}), HostTensor::from<float>(pooled, {2, 5})},
           {{"output_height", int64_t{2}}, {"output_width", int64_t{3}}, {"spatial_scale", 0.5}});
  list.add("detection/nms", "NonMaxSuppression",
           {list.random(DType::kF32, {1, 30, 4}), list.random(DType::kF32, {1, 2, 30}), HostTensor::scalar<int64_t>(5),
            HostTensor::scalar<float>(0.3f), HostTensor::scalar<float>(0.0f)},
           {}, 1, {false, false, true, true, true});
}

}  // namespace wootz::ops
