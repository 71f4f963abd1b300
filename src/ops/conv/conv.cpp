// Conv, ConvTranspose, ConvInteger.
#include <algorithm>
#include <array>

#include "ops/conv/conv_math.h"
#include "ops/module_table.h"
#include "ops/support/quant_attrs.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

// What the three share: ranks, channels and groups. `out_axis` is the weight's axis of output channels.
Status check_channels(InferContext& ctx, int64_t groups, bool transposed) {
  const Shape &x = ctx.shape(0), &w = ctx.shape(1);
  if (x.size() < 3 || w.size() != x.size())
    return ctx.fail("input {} and weights {} need equal rank of at least 3", shape_to_string(x), shape_to_string(w));
  if (groups < 1) return ctx.fail("groups is {}", groups);
  const Dim in = transposed ? w[0] : w[1] * Dim(groups);
  if (x[1].is_const() && in.is_const() && x[1].value() != in.value())
    return ctx.fail("input {} has {} channels; weights {} in {} groups take {}", shape_to_string(x), x[1].value(),
                    shape_to_string(w), groups, in.value());
  if (w[0].is_const() && w[0].value() % groups != 0)
    return ctx.fail("weights {} do not split into {} groups", shape_to_string(w), groups);
  for (size_t i = 2; i < w.size(); ++i)
    if (w[i].is_const() && w[i].value() < 1) return ctx.fail("weights {} have an empty kernel", shape_to_string(w));
  return {};
}

Status check_bias(InferContext& ctx, int input, const Dim& channels) {
  if (!ctx.has(input)) return {};
  const Shape& b = ctx.shape(input);
  if (b.size() != 1 || (b[0].is_const() && channels.is_const() && b[0].value() != channels.value()))
    return ctx.fail("bias {} for {} output channels", shape_to_string(b), channels.to_string());
  if (!is_float(ctx.dtype(input))) return ctx.fail("bias of type {}", dtype_name(ctx.dtype(input)));
  return {};
}

Status infer_conv_shape(InferContext& ctx, DType type) {
  const int64_t groups = ctx.node().attr_int("groups", 1);
  WOOTZ_RETURN_IF_ERROR(check_channels(ctx, groups, false));
  const Shape &x = ctx.shape(0), &w = ctx.shape(1);
  WOOTZ_ASSIGN_OR_RETURN(const Window window, read_window(ctx.node(), ctx.rank(0) - 2));
  Shape y{x[0], w[0]};
  for (size_t i = 2; i < x.size(); ++i) {
    y.push_back(window_output(window, static_cast<int>(i) - 2, x[i], w[i]));
    if (y[i].is_const() && y[i].value() < 1)
      return ctx.fail("input {} with its padding is smaller than the kernel of weights {}", shape_to_string(x),
                      shape_to_string(w));
  }
  ctx.set_output(0, type, y);
  return {};
}

Status infer_conv(InferContext& ctx) {
  const bool known = ctx.rank(1) > 0 && ctx.shape(1)[0].is_const();
  WOOTZ_ASSIGN_OR_RETURN(const auto quant, read_quant_attrs(ctx.node(), known ? ctx.shape(1)[0].value() : -1));
  if (quant ? !are_8_bits(ctx.dtype(0), ctx.dtype(1)) : !is_float(ctx.dtype(0)) || ctx.dtype(0) != ctx.dtype(1))
    return ctx.fail("input of type {} with weights of type {}", dtype_name(ctx.dtype(0)), dtype_name(ctx.dtype(1)));
  WOOTZ_RETURN_IF_ERROR(infer_conv_shape(ctx, quant ? DType::kF32 : ctx.dtype(0)));
  return check_bias(ctx, 2, ctx.shape(1)[0]);
}

ConvSizes conv_sizes(const EvalContext& ctx, const Window& window, int64_t groups, const HostTensor& y) {
  const HostTensor &x = ctx.in(0), &w = ctx.in(1);
  ConvSizes s;
  s.batch = x.dims()[0];
  s.in_channels = x.dims()[1];
  s.out_channels = y.dims()[1];
  s.groups = groups;
  s.window = window_extents(window, x.dims(), y.dims(), Dims(w.dims().span().subspan(2)));
  return s;
}

// Writes sums to y as x_scale * w_scale * sum + bias (scale 1 without quantization).
ConvRow finish_rows(const ConvSizes& s, HostTensor& y, const std::vector<double>& bias,
                    const std::optional<QuantAttrs>& quant) {
  return
      [&, buffer = std::vector<double>()](int64_t n, int64_t m, int64_t first, std::span<const double> sums) mutable {
        buffer.assign(sums.begin(), sums.end());
        const double scale = quant ? quant->x_scale * quant->w_scale_at(m) : 1;
        const double add = bias.empty() ? 0 : bias[static_cast<size_t>(m)];
        for (double& v : buffer) v = v * scale + add;
        store_f64(&y, (n * s.out_channels + m) * s.window.out_volume() + first, buffer);
      };
}

// Subtracts the zero point of each output channel.
void subtract_per_channel(std::vector<double>* w, int64_t channels, const std::function<double(int64_t)>& zero) {
  const size_t each = channels == 0 ? 0 : w->size() / static_cast<size_t>(channels);
  for (int64_t m = 0; m < channels; ++m) {
    const double z = zero(m);
    for (size_t i = 0; z != 0 && i < each; ++i) (*w)[static_cast<size_t>(m) * each + i] -= z;
  }
}

Status reference_conv(EvalContext& ctx) {
  const HostTensor &x = ctx.in(0), &w = ctx.in(1);
  HostTensor& y = ctx.outputs[0];
  WOOTZ_ASSIGN_OR_RETURN(const Window window, read_window(ctx.node, x.rank() - 2));
  WOOTZ_ASSIGN_OR_RETURN(const auto quant, read_quant_attrs(ctx.node, w.dims()[0]));
  const ConvSizes s = conv_sizes(ctx, window, ctx.node.attr_int("groups", 1), y);
  std::vector<double> xs = load_f64(x), ws = load_f64(w);
  if (quant) {
    for (double& v : xs) v -= quant->x_zero;
    subtract_per_channel(&ws, s.out_channels, [&](int64_t m) { return quant->w_zero_at(m); });
  }
  const std::vector<double> bias = ctx.has(2) ? load_f64(ctx.in(2)) : std::vector<double>();
  convolve(s, xs, ws, finish_rows(s, y, bias, quant));
  return {};
}

Status infer_conv_transpose(InferContext& ctx) {
  const int64_t groups = ctx.node().attr_int("groups", 1);
  const bool known = ctx.rank(1) > 1 && ctx.shape(1)[1].is_const() && groups > 0 && groups < (int64_t{1} << 31);
  WOOTZ_ASSIGN_OR_RETURN(const auto quant, read_quant_attrs(ctx.node(), known ? ctx.shape(1)[1].value() * groups : -1));
  if (quant ? !is_int8(ctx.dtype(0)) || !is_int8(ctx.dtype(1))
            : !is_float(ctx.dtype(0)) || ctx.dtype(0) != ctx.dtype(1))
    return ctx.fail("input of type {} with weights of type {}", dtype_name(ctx.dtype(0)), dtype_name(ctx.dtype(1)));
  if (quant && std::any_of(quant->w_zero.begin(), quant->w_zero.end(), [](double z) { return z != 0; }))
    return ctx.fail("weights of a transposed convolution with a zero point");
  WOOTZ_RETURN_IF_ERROR(check_channels(ctx, groups, true));
  const Shape &x = ctx.shape(0), &w = ctx.shape(1);
  WOOTZ_ASSIGN_OR_RETURN(const Window window, read_window(ctx.node(), ctx.rank(0) - 2));
  if (window.auto_pad != AutoPad::kExplicit) return ctx.fail("auto_pad is not part of this op");
  const std::vector<int64_t> extra =
      ctx.node().attr_ints("output_padding", std::vector<int64_t>(static_cast<size_t>(window.rank), 0));
  if (extra.size() != static_cast<size_t>(window.rank))
    return ctx.fail("output_padding has {} values for {} spatial axes", extra.size(), window.rank);
  Shape y{x[0], w[1] * Dim(groups)};
  for (size_t i = 0; i < extra.size(); ++i) {
    if (extra[i] < 0 || extra[i] >= (int64_t{1} << 31)) return ctx.fail("output_padding of {}", extra[i]);
    y.push_back((x[i + 2] - Dim(1)) * Dim(window.strides[i]) + (w[i + 2] - Dim(1)) * Dim(window.dilations[i]) + Dim(1) +
                Dim(extra[i] - window.begins[i] - window.ends[i]));
    if (y.back().is_const() && y.back().value() < 1)
      return ctx.fail("padding removes the whole output of input {} and weights {}", shape_to_string(x),
                      shape_to_string(w));
  }
  ctx.set_output(0, quant ? DType::kF32 : ctx.dtype(0), y);
  return check_bias(ctx, 2, y[1]);
}

Status reference_conv_transpose(EvalContext& ctx) {
  HostTensor& y = ctx.outputs[0];
  WOOTZ_ASSIGN_OR_RETURN(const Window window, read_window(ctx.node, ctx.in(0).rank() - 2));
  const ConvSizes s = conv_sizes(ctx, window, ctx.node.attr_int("groups", 1), y);
  const std::vector<double> bias = ctx.has(2) ? load_f64(ctx.in(2)) : std::vector<double>();
  WOOTZ_ASSIGN_OR_RETURN(const auto quant, read_quant_attrs(ctx.node, s.out_channels));
  std::vector<double> xs = load_f64(ctx.in(0));
  if (quant)
    for (double& v : xs) v -= quant->x_zero;
  convolve_transposed(s, xs, load_f64(ctx.in(1)), finish_rows(s, y, bias, quant));
  return {};
}

// Inputs x, w, [x_zero], [w_zero]: zero points of x's and w's type, a scalar or (w) one per output channel.
Status infer_conv_integer(InferContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i)
    if (ctx.has(i) && !is_int8(ctx.dtype(i))) return ctx.fail("input {} of type {}", i, dtype_name(ctx.dtype(i)));
  WOOTZ_RETURN_IF_ERROR(infer_conv_shape(ctx, DType::kI32));
  const auto single = [](const Shape& s) { return s.empty() || (s.size() == 1 && s[0] == Dim(1)); };
  if (ctx.has(2) && !single(ctx.shape(2))) return ctx.fail("zero point {} of the input", shape_to_string(ctx.shape(2)));
  if (ctx.has(3) && !single(ctx.shape(3))) {
    const Shape& z = ctx.shape(3);
    const Dim& m = ctx.shape(1)[0];
    if (z.size() != 1 || (z[0].is_const() && m.is_const() && z[0].value() != m.value()))
      return ctx.fail("zero points {} for weights {}", shape_to_string(z), shape_to_string(ctx.shape(1)));
  }
  return {};
}

Status reference_conv_integer(EvalContext& ctx) {
  HostTensor& y = ctx.outputs[0];
  WOOTZ_ASSIGN_OR_RETURN(const Window window, read_window(ctx.node, ctx.in(0).rank() - 2));
  const ConvSizes s = conv_sizes(ctx, window, ctx.node.attr_int("groups", 1), y);
  std::vector<double> xs = load_f64(ctx.in(0)), ws = load_f64(ctx.in(1));
  if (ctx.has(2))
    for (double& v : xs) v -= ctx.in(2).get_f64(0);
  if (ctx.has(3)) {
    const HostTensor& z = ctx.in(3);
    subtract_per_channel(&ws, s.out_channels, [&](int64_t m) { return z.get_f64(z.volume() == 1 ? 0 : m); });
  }
  convolve(s, xs, ws, finish_rows(s, y, {}, std::nullopt));  // exact: sums of 16-bit products stay below 2^53
  return {};
}

std::vector<AttrSpec> conv_attrs(std::initializer_list<AttrSpec> more) {
  std::vector<AttrSpec> all{{"strides", AttrKind::kInts},
                            {"pads", AttrKind::kInts},
                            {"dilations", AttrKind::kInts},
                            {"groups", AttrKind::kInt}};
  all.insert(all.end(), more);
  return all;
}

const OpDef kConv{
    .name = "Conv",
    .min_inputs = 2,
    .max_inputs = 3,
    .attributes = conv_attrs({{"auto_pad", AttrKind::kString},
                              kQuantAttrSpecs[0],
                              kQuantAttrSpecs[1],
                              kQuantAttrSpecs[2],
                              kQuantAttrSpecs[3]}),
    .infer = infer_conv,
    .reference = reference_conv,
    .lowering = Lowering::kConv,
};
const OpDef kConvTranspose{
    .name = "ConvTranspose",
    .min_inputs = 2,
    .max_inputs = 3,
    .attributes = conv_attrs({{"output_padding", AttrKind::kInts},
                              kQuantAttrSpecs[0],
                              kQuantAttrSpecs[1],
                              kQuantAttrSpecs[2],
                              kQuantAttrSpecs[3]}),
    .infer = infer_conv_transpose,
    .reference = reference_conv_transpose,
    .lowering = Lowering::kConv,
};
const OpDef kConvInteger{
    .name = "ConvInteger",
    .min_inputs = 2,
    .max_inputs = 4,
    .attributes = conv_attrs({{"auto_pad", AttrKind::kString}}),
    .infer = infer_conv_integer,
    .reference = reference_conv_integer,
};

}  // namespace

std::span<const OpDef* const> conv_ops() {
  static const OpDef* const kConvDefs[] = {&kConv, &kConvTranspose, &kConvInteger};
  return kConvDefs;
}

}  // namespace wootz::ops
