#include <cmath>

#include "ops/module_table.h"
#include "ops/support/compose.h"
#include "ops/support/window_import.h"

namespace wootz::ops {
namespace {

Status import_kind(ImportContext& ctx, const char* kind, AttrMap attrs) {
  if (!ctx.has_input(0)) return ctx.fail("input is required");
  attrs["kind"] = std::string(kind);
  const std::vector<int64_t> kernel = ctx.attr_ints("kernel_shape");
  if (kernel.empty()) return ctx.fail("kernel_shape is required");
  attrs["kernel"] = kernel;
  WOOTZ_RETURN_IF_ERROR(import_window(ctx, ctx.input(0), Shape(kernel.begin(), kernel.end()), &attrs));
  const bool automatic = ctx.attr_string("auto_pad", "NOTSET") != "NOTSET";  // gives the extents by itself
  if (ctx.attr_int("ceil_mode", 0) != 0 && !automatic) attrs["ceil_mode"] = int64_t{1};
  const int outputs = ctx.num_outputs() > 1 && ctx.wants_output(1) ? 2 : 1;
  Composer c(ctx);
  Node* node = c.node("Pool", {ctx.input(0)}, std::move(attrs), outputs);
  if (c.failed()) return c.status();
  if (outputs > 1) ctx.set_output(1, node->output(1));
  return c.output(0, node->output(0));
}

Status import_max_pool(ImportContext& ctx) {
  AttrMap attrs;
  if (ctx.attr_int("storage_order", 0) != 0) attrs["storage_order"] = int64_t{1};
  return import_kind(ctx, "max", std::move(attrs));
}

Status import_average_pool(ImportContext& ctx) {
  AttrMap attrs;
  if (ctx.attr_int("count_include_pad", 0) != 0) attrs["count_include_pad"] = int64_t{1};
  return import_kind(ctx, "avg", std::move(attrs));
}

// p was a float in opset 1.
Result<int64_t> read_p(ImportContext& ctx) {
  if (ctx.opset() >= 2) return ctx.attr_int("p", 2);
  const double p = ctx.attr_float("p", 2);
  if (p != std::floor(p) || p < 1 || p > 1e6) return ctx.fail("p of {} is not supported; a whole number is", p);
  return static_cast<int64_t>(p);
}

Status import_lp_pool(ImportContext& ctx) {
  WOOTZ_ASSIGN_OR_RETURN(const int64_t p, read_p(ctx));
  return import_kind(ctx, "lp", {{"p", p}});
}

Status import_global(ImportContext& ctx, const char* kind, AttrMap attrs) {
  attrs["kind"] = std::string(kind);
  attrs["global"] = int64_t{1};
  Composer c(ctx);
  return c.output(0, c.op("Pool", {ctx.input(0)}, std::move(attrs)));
}
Status import_global_max(ImportContext& ctx) { return import_global(ctx, "max", {}); }
Status import_global_average(ImportContext& ctx) { return import_global(ctx, "avg", {}); }
Status import_global_lp(ImportContext& ctx) {
  WOOTZ_ASSIGN_OR_RETURN(const int64_t p, read_p(ctx));
  return import_global(ctx, "lp", {{"p", p}});
}

Status import_max_unpool(ImportContext& ctx) {
  AttrMap attrs{{"kernel", ctx.attr_ints("kernel_shape")}};
  for (const char* name : {"strides", "pads"})
    if (const std::vector<int64_t> values = ctx.attr_ints(name); !values.empty()) attrs[name] = values;
  std::vector<Value*> inputs{ctx.input(0), ctx.input(1)};
  if (ctx.has_input(2)) inputs.push_back(ctx.input(2));
  Composer c(ctx);
  return c.output(0, c.op("MaxUnpool", std::move(inputs), std::move(attrs)));
}

}  // namespace

std::span<const OnnxImport> pool_onnx() {
  static constexpr OnnxImport kPoolImports[] = {
      {"AveragePool", 1, import_average_pool}, {"GlobalAveragePool", 1, import_global_average},
      {"GlobalLpPool", 1, import_global_lp},   {"GlobalMaxPool", 1, import_global_max},
      {"LpPool", 1, import_lp_pool},           {"MaxPool", 1, import_max_pool},
      {"MaxUnpool", 9, import_max_unpool},
  };
  return kPoolImports;
}

}  // namespace wootz::ops
