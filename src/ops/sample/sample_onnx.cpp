#include "ops/module_table.h"
#include "ops/support/compose.h"
#include "ops/support/window_import.h"

namespace wootz::ops {
namespace {

Status import_grid_sample(ImportContext& ctx) {
  std::string mode = ctx.attr_string("mode", "linear");
  if (mode == "bilinear") mode = "linear";  // their names before opset 20
  if (mode == "bicubic") mode = "cubic";
  Composer c(ctx);
  return c.output(0, c.op("GridSample", {ctx.input(0), ctx.input(1)},
                          {{"mode", mode},
                           {"padding_mode", ctx.attr_string("padding_mode", "zeros")},
                           {"align_corners", ctx.attr_int("align_corners", 0)}}));
}

Status import_affine_grid(ImportContext& ctx) {
  Composer c(ctx);
  return c.output(
      0, c.op("AffineGrid", {ctx.input(0), ctx.input(1)}, {{"align_corners", ctx.attr_int("align_corners", 0)}}));
}

Status import_deform_conv(ImportContext& ctx) {
  for (int i = 0; i < 3; ++i)
    if (!ctx.has_input(i)) return ctx.fail("input {} is required", i);
  AttrMap attrs{{"groups", ctx.attr_int("group", 1)}, {"offset_groups", ctx.attr_int("offset_group", 1)}};
  for (const char* name : {"strides", "dilations", "pads"})
    if (const std::vector<int64_t> values = ctx.attr_ints(name); !values.empty()) attrs[name] = values;
  std::vector<Value*> inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.input(i));
  while (inputs.back() == nullptr) inputs.pop_back();
  Composer c(ctx);
  return c.output(0, c.op("DeformConv", std::move(inputs), std::move(attrs)));
}

}  // namespace

std::span<const OnnxImport> sample_onnx() {
  static constexpr OnnxImport kSampleImports[] = {
      {"AffineGrid", 20, import_affine_grid},
      {"DeformConv", 19, import_deform_conv},
      {"GridSample", 16, import_grid_sample},
  };
  return kSampleImports;
}

}  // namespace wootz::ops
