#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_one_hot(ImportContext& ctx) {
  return import_as(ctx, "OneHot", {ctx.input(0), ctx.input(1), ctx.input(2)}, {{"axis", ctx.attr_int("axis", -1)}});
}

constexpr OnnxImport kOneHotImports[] = {{"OneHot", 9, import_one_hot}};

}  // namespace

std::span<const OnnxImport> one_hot_onnx() { return kOneHotImports; }

}  // namespace wootz::ops
