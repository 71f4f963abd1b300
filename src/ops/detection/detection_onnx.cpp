#include "ops/module_table.h"
#include "ops/support/compose.h"

namespace wootz::ops {
namespace {

Status import_roi_align(ImportContext& ctx) {
  const std::string fallback = ctx.opset() >= 16 ? "half_pixel" : "output_half_pixel";
  const std::string coordinates = ctx.attr_string("coordinate_transformation_mode", fallback);
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return ctx.fail("unknown coordinate_transformation_mode '{}'", coordinates);
  Composer c(ctx);
  return c.output(0, c.op("RoiAlign", {ctx.input(0), ctx.input(1), ctx.input(2)},
                          {{"mode", ctx.attr_string("mode", "avg")},
                           {"output_height", ctx.attr_int("output_height", 1)},
                           {"output_width", ctx.attr_int("output_width", 1)},
                           {"sampling_ratio", ctx.attr_int("sampling_ratio", 0)},
                           {"spatial_scale", ctx.attr_float("spatial_scale", 1)},
                           {"half_pixel", int64_t{coordinates == "half_pixel"}}}));
}

Status import_max_roi_pool(ImportContext& ctx) {
  const std::vector<int64_t> shape = ctx.attr_ints("pooled_shape");
  if (shape.size() != 2) return ctx.fail("pooled_shape has {} values", shape.size());
  Composer c(ctx);
  return c.output(0, c.op("MaxRoiPool", {ctx.input(0), ctx.input(1)},
                          {{"output_height", shape[0]},
                           {"output_width", shape[1]},
                           {"spatial_scale", ctx.attr_float("spatial_scale", 1)}}));
}

Status import_nms(ImportContext& ctx) {
  std::vector<Value*> inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.input(i));
  Composer c(ctx);
  return c.output(
      0, c.op("NonMaxSuppression", std::move(inputs), {{"center_point_box", ctx.attr_int("center_point_box", 0)}}));
}

}  // namespace

std::span<const OnnxImport> detection_onnx() {
  static constexpr OnnxImport kDetectionImports[] = {
      {"MaxRoiPool", 1, import_max_roi_pool},
      {"NonMaxSuppression", 10, import_nms},
      {"RoiAlign", 10, import_roi_align},
  };
  return kDetectionImports;
}

}  // namespace wootz::ops
