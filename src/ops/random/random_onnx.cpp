#include <bit>

#include "ops/module_table.h"
#include "ops/support/compose.h"

namespace wootz::ops {
namespace {

// With a seed every context draws the same numbers; nodes with one seed still draw others than one another.
AttrMap state_attributes(const ImportContext& ctx) {
  if (!ctx.has_attr("seed")) return {};
  uint64_t hash = 1469598103934665603U;
  for (const char c : ctx.node_name()) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return {{"key", std::bit_cast<int64_t>(hash ^ std::bit_cast<uint64_t>(ctx.attr_float("seed", 0)))}};
}

// The op on a state of its own and, perhaps, the node's input.
Status import_drawing(ImportContext& ctx, std::string_view op, AttrMap attrs, bool with_input) {
  if (ctx.has_attr("dtype")) attrs["dtype"] = std::string(dtype_name(ctx.attr_dtype("dtype", DType::kInvalid)));
  Composer c(ctx);
  std::vector<Value*> inputs{c.op("RandomState", {}, state_attributes(ctx))};
  if (with_input) inputs.push_back(ctx.input(0));
  return c.output(0, c.op(op, std::move(inputs), std::move(attrs)));
}

Status import_random(ImportContext& ctx) {
  const bool normal = ctx.op_type().starts_with("RandomNormal"), like = ctx.op_type().ends_with("Like");
  AttrMap attrs{{"distribution", std::string(normal ? "normal" : "uniform")}};
  if (normal) {
    attrs["mean"] = ctx.attr_float("mean", 0);
    attrs["scale"] = ctx.attr_float("scale", 1);
  } else {
    attrs["low"] = ctx.attr_float("low", 0);
    attrs["high"] = ctx.attr_float("high", 1);
  }
  if (!like && !ctx.has_attr("shape")) return ctx.fail("attribute 'shape' is required");
  if (!like) attrs["shape"] = ctx.attr_ints("shape");
  return import_drawing(ctx, "Random", std::move(attrs), like);
}

Status import_drawn(ImportContext& ctx) {
  AttrMap attrs;
  if (ctx.op_type() == "Multinomial") attrs["sample_size"] = ctx.attr_int("sample_size", 1);
  return import_drawing(ctx, ctx.op_type(), std::move(attrs), true);
}

constexpr OnnxImport kRandomImports[] = {
    {"Bernoulli", 15, import_drawn},     {"Multinomial", 7, import_drawn},
    {"RandomNormal", 1, import_random},  {"RandomNormalLike", 1, import_random},
    {"RandomUniform", 1, import_random}, {"RandomUniformLike", 1, import_random},
};

}  // namespace

std::span<const OnnxImport> random_onnx() { return kRandomImports; }

}  // namespace wootz::ops
