#include <algorithm>

#include "ops/module_table.h"
#include "ops/support/compose.h"
#include "ops/support/window_import.h"

namespace wootz::ops {
namespace {

Status check_kernel_shape(ImportContext& ctx, const Value* w) {
  const std::vector<int64_t> kernel = ctx.attr_ints("kernel_shape");
  if (kernel.empty()) return {};
  bool equal = kernel.size() + 2 == w->shape().size();
  for (size_t i = 0; equal && i < kernel.size(); ++i)
    equal = !w->shape()[i + 2].is_const() || w->shape()[i + 2].value() == kernel[i];
  if (!equal) return ctx.fail("kernel_shape does not fit the weights {}", shape_to_string(w->shape()));
  return {};
}

Result<AttrMap> conv_attrs(ImportContext& ctx, const Value* x, const Value* w) {
  AttrMap attrs{{"groups", ctx.attr_int("group", 1)}};
  const Shape kernel(w->shape().begin() + std::min<ptrdiff_t>(2, w->rank()), w->shape().end());
  WOOTZ_RETURN_IF_ERROR(import_window(ctx, x, kernel, &attrs));
  return attrs;
}

Status import_conv(ImportContext& ctx) {
  Value *x = ctx.input(0), *w = ctx.input(1);
  if (x == nullptr || w == nullptr) return ctx.fail("input and weights are required");
  WOOTZ_RETURN_IF_ERROR(check_kernel_shape(ctx, w));
  WOOTZ_ASSIGN_OR_RETURN(AttrMap attrs, conv_attrs(ctx, x, w));
  std::vector<Value*> inputs{x, w};
  if (ctx.has_input(2)) inputs.push_back(ctx.input(2));
  Composer c(ctx);
  return c.output(0, c.op("Conv", std::move(inputs), std::move(attrs)));
}

Status import_conv_integer(ImportContext& ctx) {
  Value *x = ctx.input(0), *w = ctx.input(1);
  if (x == nullptr || w == nullptr) return ctx.fail("input and weights are required");
  WOOTZ_RETURN_IF_ERROR(check_kernel_shape(ctx, w));
  WOOTZ_ASSIGN_OR_RETURN(AttrMap attrs, conv_attrs(ctx, x, w));
  std::vector<Value*> inputs{x, w};
  for (int i = 2; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.input(i));
  Composer c(ctx);
  return c.output(0, c.op("ConvInteger", std::move(inputs), std::move(attrs)));
}

// Padding that gives the wanted output: begin and end are split by the mode; what padding cannot remove is added at the
// end.
Status transpose_pads(ImportContext& ctx, const Value* x, const Value* w, AttrMap* attrs) {
  const auto spatial = static_cast<size_t>(std::max(x->rank() - 2, 0));
  const std::string mode = ctx.attr_string("auto_pad", "NOTSET");
  std::vector<int64_t> wanted = ctx.attr_ints("output_shape");
  std::vector<int64_t> extra = ctx.attr_ints("output_padding", std::vector<int64_t>(spatial, 0));
  std::vector<int64_t> pads = ctx.attr_ints("pads", std::vector<int64_t>(2 * spatial, 0));
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!same && mode != "NOTSET" && mode != "VALID" && !mode.empty()) return ctx.fail("unknown auto_pad '{}'", mode);
  if (!same && wanted.empty()) {
    if (mode != "VALID") (*attrs)["pads"] = pads;
    (*attrs)["output_padding"] = extra;
    return {};
  }
  if (!wanted.empty() && wanted.size() > spatial)
    wanted.erase(wanted.begin(), wanted.end() - static_cast<ptrdiff_t>(spatial));
  const std::vector<int64_t> ones(spatial, 1);
  const std::vector<int64_t> strides = ctx.attr_ints("strides", ones), dilations = ctx.attr_ints("dilations", ones);
  if (w->rank() != x->rank() || extra.size() != spatial || strides.size() != spatial || dilations.size() != spatial ||
      (!wanted.empty() && wanted.size() != spatial))
    return ctx.fail("strides, dilations, output_padding or output_shape do not have {} values", spatial);
  pads.assign(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const Dim &in = x->shape()[i + 2], &kernel = w->shape()[i + 2];
    if (!kernel.is_const() || (!wanted.empty() && !in.is_const()))
      return ctx.fail("output_shape or auto_pad with input {} and weights {}: the extents must be known",
                      shape_to_string(x->shape()), shape_to_string(w->shape()));
    const int64_t effective = (kernel.value() - 1) * dilations[i] + 1;
    // SAME: output = input * stride, so the input's extent cancels out.
    const int64_t total = wanted.empty() ? extra[i] + effective - strides[i]
                                         : strides[i] * (in.value() - 1) + extra[i] + effective - wanted[i];
    if (total < 0) {
      extra[i] -= total;
      continue;
    }
    pads[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    pads[i + spatial] = total - pads[i];
  }
  (*attrs)["pads"] = pads;
  (*attrs)["output_padding"] = extra;
  return {};
}

Status import_conv_transpose(ImportContext& ctx) {
  Value *x = ctx.input(0), *w = ctx.input(1);
  if (x == nullptr || w == nullptr) return ctx.fail("input and weights are required");
  WOOTZ_RETURN_IF_ERROR(check_kernel_shape(ctx, w));
  AttrMap attrs{{"groups", ctx.attr_int("group", 1)}};
  for (const char* name : {"strides", "dilations"})
    if (const std::vector<int64_t> values = ctx.attr_ints(name); !values.empty()) attrs[name] = values;
  WOOTZ_RETURN_IF_ERROR(transpose_pads(ctx, x, w, &attrs));
  std::vector<Value*> inputs{x, w};
  if (ctx.has_input(2)) inputs.push_back(ctx.input(2));
  Composer c(ctx);
  return c.output(0, c.op("ConvTranspose", std::move(inputs), std::move(attrs)));
}

constexpr DType kFloat = DType::kF32;

// Inputs x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, [bias in i32 of scale x_scale * w_scale].
Status import_qlinear_conv(ImportContext& ctx) {
  for (int i = 0; i < 8; ++i)
    if (!ctx.has_input(i)) return ctx.fail("input {} is required", i);
  Value *x = ctx.input(0), *w = ctx.input(3);
  WOOTZ_RETURN_IF_ERROR(check_kernel_shape(ctx, w));
  WOOTZ_ASSIGN_OR_RETURN(AttrMap attrs, conv_attrs(ctx, x, w));
  Composer c(ctx);
  const auto per_channel = [&](Value* v) {  // [M] against w [M, C, ...]
    if (c.failed() || v->rank() == 0) return v;
    std::vector<int64_t> dims(static_cast<size_t>(w->rank()), 1);
    dims[0] = -1;
    return c.reshape(v, dims);
  };
  Value* xf = c.op("Dequantize", {x, c.as_scalar(ctx.input(1)), c.as_scalar(ctx.input(2))});
  Value* wf = c.op("Dequantize", {w, per_channel(ctx.input(4)), per_channel(ctx.input(5))});
  std::vector<Value*> inputs{xf, wf};
  if (ctx.has_input(8))
    inputs.push_back(c.mul(c.cast(ctx.input(8), kFloat), c.mul(c.as_scalar(ctx.input(1)), ctx.input(4))));
  Value* y = c.op("Conv", std::move(inputs), std::move(attrs));
  return c.output(0, c.op("Quantize", {y, c.as_scalar(ctx.input(6)), c.as_scalar(ctx.input(7))},
                          {{"to", std::string(dtype_name(ctx.input(7)->dtype()))}}));
}

}  // namespace

std::span<const OnnxImport> conv_onnx() {
  static constexpr OnnxImport kConvImports[] = {
      {"Conv", 1, import_conv},
      {"ConvInteger", 10, import_conv_integer},
      {"ConvTranspose", 1, import_conv_transpose},
      {"QLinearConv", 10, import_qlinear_conv},
  };
  return kConvImports;
}

}  // namespace wootz::ops
