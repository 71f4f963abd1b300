#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

void copy_seed_and_dtype(ImportContext& ctx, AttrMap& attrs) {
  if (ctx.has_attr("seed")) attrs["seed"] = ctx.attr_float("seed", 0);
  if (ctx.has_attr("dtype")) attrs["dtype"] = std::string(dtype_name(ctx.attr_dtype("dtype", DType::kInvalid)));
}

Status import_random(ImportContext& ctx) {
  const bool normal = ctx.op_type().starts_with("RandomNormal"), like = ctx.op_type().ends_with("Like");
  AttrMap attrs{{"distribution", std::string(normal ? "normal" : "uniform")}};
  copy_seed_and_dtype(ctx, attrs);
  if (normal) {
    attrs["mean"] = ctx.attr_float("mean", 0);
    attrs["scale"] = ctx.attr_float("scale", 1);
  } else {
    attrs["low"] = ctx.attr_float("low", 0);
    attrs["high"] = ctx.attr_float("high", 1);
  }
  if (like) return import_as(ctx, "Random", {ctx.input(0)}, std::move(attrs));
  if (!ctx.has_attr("shape")) return ctx.fail("attribute 'shape' is required");
  attrs["shape"] = ctx.attr_ints("shape");
  return import_as(ctx, "Random", {}, std::move(attrs));
}

Status import_drawn(ImportContext& ctx) {
  AttrMap attrs;
  copy_seed_and_dtype(ctx, attrs);
  if (ctx.op_type() == "Multinomial") attrs["sample_size"] = ctx.attr_int("sample_size", 1);
  return import_as(ctx, ctx.op_type(), {ctx.input(0)}, std::move(attrs));
}

constexpr OnnxImport kImports[] = {
    {"Bernoulli", 15, import_drawn},     {"Multinomial", 7, import_drawn},
    {"RandomNormal", 1, import_random},  {"RandomNormalLike", 1, import_random},
    {"RandomUniform", 1, import_random}, {"RandomUniformLike", 1, import_random},
};

}  // namespace

std::span<const OnnxImport> random_onnx() { return kImports; }

}  // namespace wootz::ops
