#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_non_zero(ImportContext& ctx) { return import_as(ctx, "NonZero", {ctx.input(0)}); }

constexpr OnnxImport kNonZeroImports[] = {{"NonZero", 9, import_non_zero}};

}  // namespace

std::span<const OnnxImport> non_zero_onnx() { return kNonZeroImports; }

}  // namespace wootz::ops
