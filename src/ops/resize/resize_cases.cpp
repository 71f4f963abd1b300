#include "ops/cases.h"

namespace wootz::ops {

void resize_cases(CaseList& list) {
  using Floats = std::vector<double>;
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinate :
         {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"}) {
      const AttrMap base{{"mode", std::string(mode)}, {"coordinate_transformation_mode", std::string(coordinate)}};
      const std::string name = std::string("resize/") + mode + "_" + coordinate;
      AttrMap attrs = base;
      attrs["scales"] = Floats{1, 1, 2, 2};
      list.add(name + "_up", "Resize", {list.random(DType::kF32, {1, 3, 5, 7})}, attrs);
      attrs["scales"] = Floats{1, 1, 0.6, 0.75};
      list.add(name + "_down", "Resize", {list.random(DType::kF32, {2, 3, 8, 9})}, attrs);
      const int64_t sizes[] = {1, 3, 11, 4};
      list.add(name + "_sizes", "Resize",
               {list.random(DType::kF32, {1, 3, 6, 7}), HostTensor::from<int64_t>(sizes, {4})}, base, 1, {false, true});
    }
    AttrMap antialias{{"mode", std::string(mode)}, {"scales", Floats{1, 1, 0.4, 0.5}}};
    if (std::string_view(mode) != "nearest") antialias["antialias"] = int64_t{1};
    list.add(std::string("resize/") + mode + "_antialias", "Resize", {list.random(DType::kF32, {1, 2, 12, 10})},
             antialias);
    list.add(std::string("resize/") + mode + "_f16", "Resize", {list.random(DType::kF16, {1, 2, 4, 5})},
             {{"mode", std::string(mode)}, {"scales", Floats{1, 1, 1.5, 3}}});
  }
  for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
    list.add(std::string("resize/nearest_") + nearest, "Resize", {list.random(DType::kF32, {1, 2, 5, 6})},
             {{"nearest_mode", std::string(nearest)}, {"scales", Floats{1, 1, 1.6, 0.5}}});
  list.add("resize/crop", "Resize", {list.random(DType::kF32, {1, 2, 6, 6})},
           {{"mode", std::string("linear")},
            {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
            {"roi", Floats{0, 0, 0.2, -0.3, 1, 1, 0.9, 1.2}},
            {"scales", Floats{1, 1, 0.8, 1.5}},
            {"extrapolation_value", 10.0}});
  list.add("resize/u8_linear", "Resize", {list.random(DType::kU8, {1, 3, 4, 4}, 0, 255)},
           {{"mode", std::string("linear")}, {"scales", Floats{1, 1, 2, 2}}});
  for (const char* mode : {"nearest", "cubic"}) {
    const int64_t wanted[] = {1, 2, 5, 7};
    list.add(std::string("resize/crop_") + mode, "Resize",
             {list.random(DType::kF16, {1, 2, 6, 6}), HostTensor::from<int64_t>(wanted, {4})},
             {{"mode", std::string(mode)},
              {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
              {"roi", Floats{0, 0, 0.1, -0.2, 1, 1, 1.3, 0.8}},
              {"extrapolation_value", -2.0}},
             1, {false, true});
  }
  list.add("resize/i8_cubic", "Resize", {list.random(DType::kI8, {1, 3, 6, 5}, -128, 127)},
           {{"mode", std::string("cubic")}, {"scales", Floats{1, 1, 1.7, 0.6}}});
  list.add("resize/u8_antialias", "Resize", {list.random(DType::kU8, {1, 2, 9, 8}, 0, 255)},
           {{"mode", std::string("linear")}, {"antialias", int64_t{1}}, {"scales", Floats{1, 1, 0.45, 0.5}}});
  list.add("resize/volume", "Resize", {list.random(DType::kF32, {1, 2, 3, 4, 5})},
           {{"mode", std::string("linear")}, {"scales", Floats{1, 1, 2, 1.5, 2}}});
}

}  // namespace wootz::ops
