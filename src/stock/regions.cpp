// ROIAlign_TRT.
#include "stock/tables.h"

namespace wootz::stock {
namespace {

Status expand_roi_align(Layer& l) {
  WOOTZ_RETURN_IF_ERROR(l.need(0, {4}));
  WOOTZ_RETURN_IF_ERROR(l.need(1, {2}));
  WOOTZ_RETURN_IF_ERROR(l.need(2, {1}, false));
  const int64_t mode = l.integer("mode"), half = l.integer("coordinate_transformation_mode");
  if (mode != 0 && mode != 1) return l.fail("mode is {}; 0 (max) and 1 (average) are known", mode);
  if (half != 0 && half != 1) return l.fail("coordinate_transformation_mode is {}; 0 and 1 are known", half);
  l.out(0, l.b.op("RoiAlign", {l.in(0), l.in(1), l.in(2)},
                  {{"mode", std::string(mode == 1 ? "avg" : "max")},
                   {"output_height", l.integer("output_height")},
                   {"output_width", l.integer("output_width")},
                   {"sampling_ratio", l.integer("sampling_ratio")},
                   {"spatial_scale", l.number("spatial_scale")},
                   {"half_pixel", half}}));
  return l.b.status();
}

using enum FieldType;
constexpr Field kRoiAlign[] = {{"coordinate_transformation_mode", kInt, "1"},
                               {"mode", kInt, "1"},
                               {"output_height", kInt, "1"},
                               {"output_width", kInt, "1"},
                               {"sampling_ratio", kInt, "0"},
                               {"spatial_scale", kFloat, "1"}};
constexpr const char* kWhat = "RoiAlign as ONNX has it";

}  // namespace

std::span<const Plugin> region_plugins() {
  static constexpr Plugin kRegionsPlugins[] = {
      {"ROIAlign_TRT", "1", Interface::kV2, kRoiAlign, 3, 3, 1, expand_roi_align, kWhat},
      {"ROIAlign_TRT", "2", Interface::kV3, kRoiAlign, 3, 3, 1, expand_roi_align, kWhat},
  };
  return kRegionsPlugins;
}

}  // namespace wootz::stock
