#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_col2im(ImportContext& ctx) {
  AttrMap attrs;
  for (const char* name : {"strides", "dilations", "pads"})
    if (ctx.has_attr(name)) attrs[name] = ctx.attr_ints(name);
  return import_as(ctx, "Col2Im", {ctx.input(0), ctx.input(1), ctx.input(2)}, std::move(attrs));
}

constexpr OnnxImport kCol2imImports[] = {{"Col2Im", 18, import_col2im}};

}  // namespace

std::span<const OnnxImport> col2im_onnx() { return kCol2imImports; }

}  // namespace wootz::ops
