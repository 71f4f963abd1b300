#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_det(ImportContext& ctx) { return import_as(ctx, "Det", {ctx.input(0)}); }

constexpr OnnxImport kDetImports[] = {{"Det", 11, import_det}};

}  // namespace

std::span<const OnnxImport> det_onnx() { return kDetImports; }

}  // namespace wootz::ops
