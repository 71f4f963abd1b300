#include <algorithm>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_unique(ImportContext& ctx) {
  AttrMap attrs{{"sorted", ctx.attr_int("sorted", 1)}};
  if (ctx.has_attr("axis")) attrs["axis"] = ctx.attr_int("axis", 0);
  const int outputs = std::max(1, ctx.num_outputs());
  WOOTZ_ASSIGN_OR_RETURN(Node * node, ctx.add("Unique", {ctx.input(0)}, std::move(attrs), outputs));
  for (int o = 0; o < outputs; ++o) ctx.set_output(o, node->output(o));
  return Status();
}

constexpr OnnxImport kUniqueImports[] = {{"Unique", 11, import_unique}};

}  // namespace

std::span<const OnnxImport> unique_onnx() { return kUniqueImports; }

}  // namespace wootz::ops
