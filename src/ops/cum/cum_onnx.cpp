#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_cumulative(ImportContext& ctx) {
  AttrMap attrs{{"exclusive", ctx.attr_int("exclusive", 0)}, {"reverse", ctx.attr_int("reverse", 0)}};
  const std::optional<std::vector<int64_t>> axis = known_ints(ctx.input(1));
  if (!axis) return import_as(ctx, ctx.op_type(), {ctx.input(0), ctx.input(1)}, std::move(attrs));
  if (axis->size() != 1) return ctx.fail("the axis has {} elements", axis->size());
  attrs["axis"] = axis->front();
  return import_as(ctx, ctx.op_type(), {ctx.input(0)}, std::move(attrs));
}

constexpr OnnxImport kCumImports[] = {{"CumSum", 11, import_cumulative}, {"CumProd", 26, import_cumulative}};

}  // namespace

std::span<const OnnxImport> cum_onnx() { return kCumImports; }

}  // namespace wootz::ops
