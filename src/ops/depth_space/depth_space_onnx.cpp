#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_depth_space(ImportContext& ctx) {
  if (!ctx.has_attr("blocksize")) return ctx.fail("attribute 'blocksize' is required");
  return import_as(ctx, ctx.op_type(), {ctx.input(0)},
                   {{"blocksize", ctx.attr_int("blocksize", 1)}, {"mode", ctx.attr_string("mode", "DCR")}});
}

constexpr OnnxImport kDepthSpaceImports[] = {{"DepthToSpace", 1, import_depth_space},
                                             {"SpaceToDepth", 1, import_depth_space}};

}  // namespace

std::span<const OnnxImport> depth_space_onnx() { return kDepthSpaceImports; }

}  // namespace wootz::ops
