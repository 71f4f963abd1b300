#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_center_crop_pad(ImportContext& ctx) {
  AttrMap attrs;
  if (ctx.has_attr("axes")) attrs["axes"] = ctx.attr_ints("axes");
  return import_as(ctx, "CenterCropPad", {ctx.input(0), ctx.input(1)}, std::move(attrs));
}

constexpr OnnxImport kCenterCropPadImports[] = {{"CenterCropPad", 18, import_center_crop_pad}};

}  // namespace

std::span<const OnnxImport> center_crop_pad_onnx() { return kCenterCropPadImports; }

}  // namespace wootz::ops
