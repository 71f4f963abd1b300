#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_expand(ImportContext& ctx) { return import_as(ctx, "Expand", {ctx.input(0), ctx.input(1)}); }

constexpr OnnxImport kExpandImports[] = {{"Expand", 8, import_expand}};

}  // namespace

std::span<const OnnxImport> expand_onnx() { return kExpandImports; }

}  // namespace wootz::ops
