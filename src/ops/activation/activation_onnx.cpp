#include "ops/module_table.h"
#include "ops/registry.h"
#include "ops/support/compose.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

// Float attributes that are written keep their value; the others have the op's defaults, which did not change between
// opsets except for the two below.
Status import_activation(ImportContext& ctx) {
  AttrMap attrs;
  for (const AttrSpec& spec : op(ctx.op_type()).attributes) {
    if (!ctx.has_attr(spec.name)) continue;
    if (spec.kind == AttrKind::kFloat)
      attrs[spec.name] = ctx.attr_float(spec.name, 0);
    else
      attrs[spec.name] = ctx.attr_string(spec.name, "");
  }
  return import_as(ctx, ctx.op_type(), {ctx.input(0)}, std::move(attrs));
}

// Selu before opset 6 had rounded defaults.
Status import_selu_1(ImportContext& ctx) {
  return import_as(ctx, "Selu", {ctx.input(0)},
                   {{"alpha", ctx.attr_float("alpha", 1.6732f)}, {"gamma", ctx.attr_float("gamma", 1.0507f)}});
}

// The rest are ops of ONNX Runtime's domain, as its optimizer and exporters write them.
Status import_quick_gelu(ImportContext& ctx) {
  return import_as(ctx, "Swish", {ctx.input(0)}, {{"alpha", ctx.attr_float("alpha", 1.702f)}});
}

// Gelu of x, or of x + bias.
Status import_biased_gelu(ImportContext& ctx, const char* approximate) {
  Composer c(ctx);
  Value* x = ctx.has_input(1) ? c.add(ctx.input(0), ctx.input(1)) : ctx.input(0);
  return c.output(0, c.op("Gelu", {x}, {{"approximate", std::string(approximate)}}));
}

Status import_exact_gelu(ImportContext& ctx) { return import_biased_gelu(ctx, "none"); }
Status import_fast_gelu(ImportContext& ctx) { return import_biased_gelu(ctx, "tanh"); }

constexpr OnnxImport kActivationImports[] = {
    {"Celu", 12, import_activation},
    {"Elu", 1, import_activation},
    {"Gelu", 20, import_activation},
    {"HardSigmoid", 1, import_activation},
    {"HardSwish", 14, import_activation},
    {"LeakyRelu", 1, import_activation},
    {"Mish", 18, import_activation},
    {"Relu", 1, import_activation},
    {"Selu", 1, import_selu_1},
    {"Selu", 6, import_activation},
    {"Shrink", 9, import_activation},
    {"Sigmoid", 1, import_activation},
    {"Softplus", 1, import_activation},
    {"Softsign", 1, import_activation},
    {"Swish", 24, import_activation},
    {"Tanh", 1, import_activation},
    {"ThresholdedRelu", 1, import_activation},
    {"BiasGelu", 1, import_exact_gelu, "com.microsoft"},
    {"FastGelu", 1, import_fast_gelu, "com.microsoft"},
    {"Gelu", 1, import_exact_gelu, "com.microsoft"},
    {"QuickGelu", 1, import_quick_gelu, "com.microsoft"},
};

}  // namespace

std::span<const OnnxImport> activation_onnx() { return kActivationImports; }

}  // namespace wootz::ops
