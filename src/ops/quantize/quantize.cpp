// Quantize and Dequantize: pointwise, with scale and zero point that broadcast to the input (a scalar per tensor,
// [C,1,1] per axis). Blocked forms are reshaped into these when imported. QuantizeRows finds the scales itself.
#include <cmath>

#include "ops/infer.h"
#include "ops/module_table.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

Status refuse(const Node& node, std::string_view what, DType type) {
  return at_node(node, invalid_argument("{} {}", what, dtype_name(type)));
}

bool is_small_float(DType type) { return is_float(type) && dtype_bits(type) <= 8; }

// Loads operand `index` and brings it to f32; with `through`, rounded to that type on the way.
uint16_t load_f32(PointwiseExpr& e, uint16_t index, DType from, DType through = DType::kF32) {
  uint16_t v = e.input(index, from);
  if (through != DType::kF32 && through != from) v = e.push(PwOp::kCast, through, v);
  return (through != DType::kF32 ? through : from) == DType::kF32 ? v : e.push(PwOp::kCast, DType::kF32, v);
}

DType quantized_type(const Node& node) {
  if (node.input(2) != nullptr) return node.input(2)->dtype();
  return node.attr_dtype("to", DType::kU8);
}

// Inputs x, scale, [zero]. Attributes: to (the result's type; the zero point's type wins), saturate (float8 only,
// default 1), precision (what x / scale is computed in; default: the scale's type).
Result<PointwiseExpr> quantize_expression(const Node& node) {
  const DType x = node.input(0)->dtype(), scale = node.input(1)->dtype(), to = quantized_type(node);
  if (!is_float(x) && x != DType::kI32) return refuse(node, "input of type", x);
  if (!is_float(scale) && scale != DType::kI32) return refuse(node, "scale of type", scale);
  if (!is_small_float(to) && (!is_integer(to) || dtype_bits(to) > 16)) return refuse(node, "result of type", to);
  DType precision = node.attr_dtype("precision", scale);
  if (precision != DType::kF16 && precision != DType::kBF16) precision = DType::kF32;
  PointwiseExpr e;
  uint16_t value = load_f32(e, 0, x, precision);
  uint16_t divisor = load_f32(e, 1, scale, precision);
  if (precision != DType::kF32) {  // the quotient is rounded to that precision
    value = e.push(PwOp::kDiv, DType::kF32, value, divisor);
    value = e.push(PwOp::kCast, DType::kF32, e.push(PwOp::kCast, precision, value));
    divisor = e.constant(1, DType::kF32);
  }
  uint16_t y = 0;
  if (is_small_float(to)) {
    value = e.push(PwOp::kDiv, DType::kF32, value, divisor);
    if (node.input(2) != nullptr) value = e.push(PwOp::kAdd, DType::kF32, value, load_f32(e, 2, to));
    const bool saturate = node.attr_int("saturate", 1) != 0 || to == DType::kF4E2M1;
    y = e.push(saturate ? PwOp::kCastSaturate : PwOp::kCast, to, value);
  } else {
    const uint16_t zero = node.input(2) != nullptr ? load_f32(e, 2, to) : e.constant(0, DType::kF32);
    y = e.push(PwOp::kQuantize, to, value, divisor, zero);
  }
  e.outputs = {y};
  return e;
}

// Inputs x, scale, [zero] of x's type. Attribute: to (the result's type; default: the scale's).
Result<PointwiseExpr> dequantize_expression(const Node& node) {
  const DType x = node.input(0)->dtype(), scale = node.input(1)->dtype(), to = node.attr_dtype("to", scale);
  if (!is_small_float(x) && !is_integer(x)) return refuse(node, "input of type", x);
  if (!is_float(scale)) return refuse(node, "scale of type", scale);
  if (!is_float(to) || is_small_float(to)) return refuse(node, "result of type", to);
  const DType wide = to == DType::kF64 ? DType::kF64 : DType::kF32;
  PointwiseExpr e;
  const auto load = [&](uint16_t index, DType from) {
    const uint16_t v = e.input(index, from);
    return from == wide ? v : e.push(PwOp::kCast, wide, v);
  };
  uint16_t y = load(0, x);
  if (const Value* zero = node.input(2)) {
    if (zero->dtype() != x) return refuse(node, "zero point of type", zero->dtype());
    y = e.push(PwOp::kSub, wide, y, load(2, x));
  }
  y = e.push(PwOp::kMul, wide, y, load(1, scale));
  if (to != wide) y = e.push(PwOp::kCast, to, y);
  e.outputs = {y};
  return e;
}

Status infer_quantize(InferContext& ctx) {
  WOOTZ_RETURN_IF_ERROR(infer_from_expr(ctx));
  const Shape &x = ctx.shape(0), &y = ctx.outputs()[0].shape;
  bool same = x.size() == y.size();
  for (size_t i = 0; same && i < x.size(); ++i) same = !x[i].is_const() || !y[i].is_const() || x[i] == y[i];
  if (!same) return ctx.fail("scale {} does not broadcast to {}", shape_to_string(ctx.shape(1)), shape_to_string(x));
  ctx.outputs()[0].values.reset();
  ctx.outputs()[0].shape = x;
  return {};
}

const OpDef kQuantize{
    .name = "Quantize",
    .min_inputs = 2,
    .max_inputs = 3,
    .attributes = {{"to", AttrKind::kDType}, {"saturate", AttrKind::kInt}, {"precision", AttrKind::kDType}},
    .infer = infer_quantize,
    .lowering = Lowering::kPointwise,
    .pointwise = quantize_expression};
const OpDef kDequantize{.name = "Dequantize",
                        .min_inputs = 2,
                        .max_inputs = 3,
                        .attributes = {{"to", AttrKind::kDType}},
                        .infer = infer_quantize,
                        .lowering = Lowering::kPointwise,
                        .pointwise = dequantize_expression};

// Rows along the last axis, each by a scale of its own: what its largest absolute value is over `divisor`, or times
// `factor`, and `least` at least. Results: the rows in type `to`, and the scales, [..., 1] in f32; of a row of zeros
// `empty`, and zeros. A row that holds a NaN has a scale of NaN, and zeros.
Status infer_quantize_rows(InferContext& ctx) {
  const Node& node = ctx.node();
  const DType to = node.attr_dtype("to", DType::kI8);
  if (!is_model_float(ctx.dtype(0))) return ctx.fail("input of type {}", dtype_name(ctx.dtype(0)));
  if (to != DType::kI8 && to != DType::kF8E4M3) return ctx.fail("result of type {}", dtype_name(to));
  if (ctx.rank(0) < 1) return ctx.fail("the input is a scalar, which has no rows");
  if (!(node.attr_float("divisor", 127) > 0) || !(node.attr_float("factor", 0) >= 0) ||
      !(node.attr_float("least", 0) >= 0))
    return ctx.fail("scales by divisor {}, factor {} and {} at least", node.attr_float("divisor", 127),
                    node.attr_float("factor", 0), node.attr_float("least", 0));
  Shape scales = ctx.shape(0);
  ctx.set_output(0, to, scales);
  scales.back() = Dim(1);
  ctx.set_output(1, DType::kF32, std::move(scales));
  return {};
}

Status reference_quantize_rows(EvalContext& ctx) {
  const std::vector<double> x = load_f64(ctx.in(0));
  const int64_t rows = ctx.outputs[1].volume(), length = rows == 0 ? 0 : ctx.in(0).volume() / rows;
  const auto divisor = static_cast<float>(ctx.node.attr_float("divisor", 127)),
             factor = static_cast<float>(ctx.node.attr_float("factor", 0)),
             least = static_cast<float>(ctx.node.attr_float("least", 0)),
             empty = static_cast<float>(ctx.node.attr_float("empty", 0));
  const DType to = ctx.outputs[0].dtype();
  for (int64_t r = 0; r < rows; ++r) {
    float most = 0;
    for (int64_t i = 0; i < length && !std::isnan(most); ++i) {
      const auto value = static_cast<float>(std::fabs(x[static_cast<size_t>(r * length + i)]));
      if (!(value <= most)) most = value;
    }
    float scale = factor > 0 ? most * factor : most / divisor;
    if (scale < least) scale = least;
    for (int64_t i = 0; i < length; ++i) {
      const auto value = static_cast<float>(x[static_cast<size_t>(r * length + i)]) / scale;
      if (is_integer(to)) {
        const float bounded = std::isnan(value) ? 0 : std::fmin(127.0F, std::fmax(-128.0F, std::nearbyint(value)));
        ctx.outputs[0].set_i64(r * length + i, static_cast<int64_t>(bounded));
      } else {
        ctx.outputs[0].set_f64(r * length + i, scale == 0 ? 0 : std::fmin(448.0F, std::fmax(-448.0F, value)));
      }
    }
    ctx.outputs[1].set_f64(r, static_cast<double>(scale == 0 ? empty : scale));
  }
  return {};
}

const OpDef kQuantizeRows{.name = "QuantizeRows",
                          .min_outputs = 2,
                          .max_outputs = 2,
                          .attributes = {{"to", AttrKind::kDType},
                                         {"divisor", AttrKind::kFloat},
                                         {"factor", AttrKind::kFloat},
                                         {"least", AttrKind::kFloat},
                                         {"empty", AttrKind::kFloat}},
                          .infer = infer_quantize_rows,
                          .reference = reference_quantize_rows,
                          .lowering = Lowering::kQuantizeRows};

// x of f32 to u8 by one scale and zero point, from its range, which is widened to hold 0: y, scale, zero point.
Status infer_dynamic_quantize(InferContext& ctx) {
  if (ctx.dtype(0) != DType::kF32) return ctx.fail("input of type {}", dtype_name(ctx.dtype(0)));
  ctx.set_output(0, DType::kU8, ctx.shape(0));
  ctx.set_output(1, DType::kF32, {});
  ctx.set_output(2, DType::kU8, {});
  return {};
}

Status reference_dynamic_quantize(EvalContext& ctx) {
  const std::span<const float> x = ctx.in(0).as<float>();
  float high = 0, low = 0;
  for (const float v : x) {
    if (!(v <= high) && !std::isnan(high)) high = v;
    if (!(v >= low) && !std::isnan(low)) low = v;
  }
  const auto byte = [](float v) {
    return static_cast<int64_t>(std::isnan(v) ? 0 : std::fmin(255.0F, std::fmax(0.0F, v)));
  };
  const float scale = (high - low) / 255, divisor = scale == 0 ? 1 : scale;
  const int64_t zero = byte(std::nearbyint(-low / divisor));
  for (size_t i = 0; i < x.size(); ++i)
    ctx.outputs[0].set_i64(static_cast<int64_t>(i), byte(std::nearbyint(x[i] / divisor) + static_cast<float>(zero)));
  ctx.outputs[1].set_f64(0, static_cast<double>(scale));
  ctx.outputs[2].set_i64(0, zero);
  return {};
}

const OpDef kDynamicQuantize{.name = "DynamicQuantize",
                             .min_outputs = 3,
                             .max_outputs = 3,
                             .infer = infer_dynamic_quantize,
                             .reference = reference_dynamic_quantize};

}  // namespace

std::span<const OpDef* const> quantize_ops() {
  static const OpDef* const kQuantizeDefs[] = {&kQuantize, &kDequantize, &kQuantizeRows, &kDynamicQuantize};
  return kQuantizeDefs;
}

}  // namespace wootz::ops
