#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_scatter_elements(ImportContext& ctx) {
  return import_as(ctx, "ScatterElements", {ctx.input(0), ctx.input(1), ctx.input(2)},
                   {{"axis", ctx.attr_int("axis", 0)}, {"reduction", ctx.attr_string("reduction", "none")}});
}

Status import_scatter_nd(ImportContext& ctx) {
  return import_as(ctx, "ScatterND", {ctx.input(0), ctx.input(1), ctx.input(2)},
                   {{"reduction", ctx.attr_string("reduction", "none")}});
}

Status import_tensor_scatter(ImportContext& ctx) {
  std::vector<Value*> inputs{ctx.input(0), ctx.input(1)};
  if (ctx.has_input(2)) inputs.push_back(ctx.input(2));
  return import_as(ctx, "TensorScatter", std::move(inputs),
                   {{"axis", ctx.attr_int("axis", -2)}, {"mode", ctx.attr_string("mode", "linear")}});
}

constexpr OnnxImport kScatterImports[] = {{"Scatter", 9, import_scatter_elements},
                                          {"ScatterElements", 11, import_scatter_elements},
                                          {"ScatterND", 11, import_scatter_nd},
                                          {"TensorScatter", 24, import_tensor_scatter}};

}  // namespace

std::span<const OnnxImport> scatter_onnx() { return kScatterImports; }

}  // namespace wootz::ops
