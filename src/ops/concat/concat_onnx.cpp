#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_joined(ImportContext& ctx, int64_t axis) {
  std::vector<Value*> inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.input(i));
  return import_as(ctx, "Concat", std::move(inputs), {{"axis", axis}});
}

// Opset 1 to 3: the axis has a default.
Status import_concat_1(ImportContext& ctx) { return import_joined(ctx, ctx.attr_int("axis", 1)); }

Status import_concat_4(ImportContext& ctx) {
  if (!ctx.has_attr("axis")) return ctx.fail("attribute 'axis' is required");
  return import_joined(ctx, ctx.attr_int("axis", 0));
}

constexpr OnnxImport kConcatImports[] = {{"Concat", 1, import_concat_1}, {"Concat", 4, import_concat_4}};

}  // namespace

std::span<const OnnxImport> concat_onnx() { return kConcatImports; }

}  // namespace wootz::ops
