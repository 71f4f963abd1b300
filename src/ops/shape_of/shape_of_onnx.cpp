#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_shape(ImportContext& ctx) {
  AttrMap attrs;
  if (ctx.attr_int("start", 0) != 0) attrs["start"] = ctx.attr_int("start", 0);
  if (ctx.has_attr("end")) attrs["end"] = ctx.attr_int("end", 0);
  return import_as(ctx, "Shape", {ctx.input(0)}, std::move(attrs));
}

Status import_size(ImportContext& ctx) { return import_as(ctx, "Size", {ctx.input(0)}); }

constexpr OnnxImport kShapeOfImports[] = {{"Shape", 1, import_shape}, {"Size", 1, import_size}};

}  // namespace

std::span<const OnnxImport> shape_of_onnx() { return kShapeOfImports; }

}  // namespace wootz::ops
