#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status finish(ImportContext& ctx, std::vector<Value*> inputs, AttrMap attrs) {
  attrs["axis"] = ctx.attr_int("axis", -1);
  attrs["largest"] = ctx.attr_int("largest", 1);
  attrs["sorted"] = ctx.attr_int("sorted", 1);
  WOOTZ_ASSIGN_OR_RETURN(Node * node, ctx.add("TopK", std::move(inputs), std::move(attrs), 2));
  for (int o = 0; o < 2; ++o) ctx.set_output(o, node->output(o));
  return Status();
}

Status import_topk_1(ImportContext& ctx) {
  if (!ctx.has_attr("k")) return ctx.fail("attribute 'k' is required");
  return finish(ctx, {ctx.input(0)}, {{"k", ctx.attr_int("k", 0)}});
}

Status import_topk_10(ImportContext& ctx) {
  const std::optional<std::vector<int64_t>> k = known_ints(ctx.input(1));
  if (!k) return finish(ctx, {ctx.input(0), ctx.input(1)}, {});
  if (k->size() != 1) return ctx.fail("k has {} elements", k->size());
  return finish(ctx, {ctx.input(0)}, {{"k", k->front()}});
}

constexpr OnnxImport kTopkImports[] = {{"TopK", 1, import_topk_1}, {"TopK", 10, import_topk_10}};

}  // namespace

std::span<const OnnxImport> topk_onnx() { return kTopkImports; }

}  // namespace wootz::ops
