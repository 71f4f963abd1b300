#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_compress(ImportContext& ctx) {
  AttrMap attrs;
  if (ctx.has_attr("axis")) attrs["axis"] = ctx.attr_int("axis", 0);
  return import_as(ctx, "Compress", {ctx.input(0), ctx.input(1)}, std::move(attrs));
}

constexpr OnnxImport kCompressImports[] = {{"Compress", 9, import_compress}};

}  // namespace

std::span<const OnnxImport> compress_onnx() { return kCompressImports; }

}  // namespace wootz::ops
