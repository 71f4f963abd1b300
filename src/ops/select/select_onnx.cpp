#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_where(ImportContext& ctx) { return import_as(ctx, "Where", {ctx.input(0), ctx.input(1), ctx.input(2)}); }

constexpr OnnxImport kSelectImports[] = {{"Where", 9, import_where}};

}  // namespace

std::span<const OnnxImport> select_onnx() { return kSelectImports; }

}  // namespace wootz::ops
