#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_gather(ImportContext& ctx) {
  return import_as(ctx, ctx.op_type(), {ctx.input(0), ctx.input(1)}, {{"axis", ctx.attr_int("axis", 0)}});
}

Status import_gather_nd(ImportContext& ctx) {
  return import_as(ctx, "GatherND", {ctx.input(0), ctx.input(1)}, {{"batch_dims", ctx.attr_int("batch_dims", 0)}});
}

constexpr OnnxImport kGatherImports[] = {
    {"Gather", 1, import_gather}, {"GatherElements", 11, import_gather}, {"GatherND", 11, import_gather_nd}};

}  // namespace

std::span<const OnnxImport> gather_onnx() { return kGatherImports; }

}  // namespace wootz::ops
