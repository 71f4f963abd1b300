#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_trilu(ImportContext& ctx) {
  AttrMap attrs{{"upper", ctx.attr_int("upper", 1)}};
  if (!ctx.has_input(1)) return import_as(ctx, "Trilu", {ctx.input(0)}, std::move(attrs));
  const std::optional<std::vector<int64_t>> k = known_ints(ctx.input(1));
  if (!k) return import_as(ctx, "Trilu", {ctx.input(0), ctx.input(1)}, std::move(attrs));
  if (k->size() != 1) return ctx.fail("k has {} elements", k->size());
  attrs["k"] = k->front();
  return import_as(ctx, "Trilu", {ctx.input(0)}, std::move(attrs));
}

constexpr OnnxImport kTriluImports[] = {{"Trilu", 14, import_trilu}};

}  // namespace

std::span<const OnnxImport> trilu_onnx() { return kTriluImports; }

}  // namespace wootz::ops
