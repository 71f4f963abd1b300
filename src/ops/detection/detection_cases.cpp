#include <vector>

#include "ops/cases.h"

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
  // More boxes than are compared at a time, of several images and classes; and regions that reach over the edges.
  list.add("detection/nms_centers", "NonMaxSuppression",
           {list.random(DType::kF32, {2, 150, 4}, 0, 1), list.random(DType::kF32, {2, 3, 150}),
            HostTensor::scalar<int64_t>(100), HostTensor::scalar<float>(0.4f)},
           {{"center_point_box", int64_t{1}}}, 1, {false, false, true, true});
  list.add("detection/roi_align_grid", "RoiAlign",
           {list.random(DType::kF32, {1, 9, 12, 11}), list.random(DType::kF32, {40, 4}, -3, 15),
            HostTensor::from<int64_t>(std::vector<int64_t>(40, 0), {40})},
           {{"output_height", int64_t{7}},
            {"output_width", int64_t{5}},
            {"sampling_ratio", int64_t{2}},
            {"half_pixel", int64_t{1}}});
}

}  // namespace wootz::ops
