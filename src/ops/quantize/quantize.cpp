// Quantize and Dequantize: pointwise, with scale and zero point that broadcast to the input (a scalar per tensor,
// [C,1,1] per axis). Blocked forms are reshaped into these when imported.
#include "ops/infer.h"
#include "ops/module_table.h"

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

}  // namespace

std::span<const OpDef* const> quantize_ops() {
  static const OpDef* const kQuantizeDefs[] = {&kQuantize, &kDequantize};
  return kQuantizeDefs;
}

}  // namespace wootz::ops
