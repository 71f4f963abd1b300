#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_transpose(ImportContext& ctx) {
  std::vector<int64_t> perm = ctx.attr_ints("perm");
  if (!ctx.has_attr("perm"))
    for (int axis = ctx.input(0)->rank() - 1; axis >= 0; --axis) perm.push_back(axis);
  return import_as(ctx, "Transpose", {ctx.input(0)}, {{"perm", std::move(perm)}});
}

constexpr OnnxImport kTransposeImports[] = {{"Transpose", 1, import_transpose}};

}  // namespace

std::span<const OnnxImport> transpose_onnx() { return kTransposeImports; }

}  // namespace wootz::ops
