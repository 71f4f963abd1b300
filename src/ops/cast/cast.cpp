// Cast (pointwise: inference and reference follow from the expression), CastE8M0 (to the power-of-two format, which has
// rounding modes of its own) and BitCast.
#include <bit>
#include <cmath>
#include <cstring>

#include "ops/infer.h"
#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Result<PointwiseExpr> cast_expression(const Node& node) {
  WOOTZ_RETURN_IF_ERROR(check_operand(node, 0, Accept::kAny));
  const DType from = node.input(0)->dtype(), to = node.attr_dtype("to");
  if (!accepts(Accept::kAny, to)) return refuse(node, "attribute 'to' names no type that tensors can have");
  PointwiseExpr expr;
  expr.num_inputs = 1;
  uint16_t x = expr.input(0, from);
  if (to != from) {
    // Narrow floats are the only formats where an overflow may have two answers.
    const bool narrow = is_float(to) && dtype_bits(to) <= 8;
    const bool saturate = narrow && node.attr_int("saturate", 1) != 0;
    x = expr.push(saturate ? PwOp::kCastSaturate : PwOp::kCast, to, x);
  }
  expr.outputs = {x};
  return expr;
}

Status infer_cast_e8m0(InferContext& ctx) {
  if (!accepts(Accept::kNumeric, ctx.dtype(0))) return ctx.fail("input is {}", dtype_name(ctx.dtype(0)));
  const std::string mode = ctx.node().attr_string("round_mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest")
    return ctx.fail("round_mode is '{}', it must be up, down or nearest", mode);
  ctx.set_output(0, DType::kF8E8M0, ctx.shape(0));
  return Status();
}

// The format is a biased exponent: 2^(e - 127), 255 is NaN. It holds neither zero nor a sign.
Status cast_e8m0_reference(EvalContext& ctx) {
  const bool saturate = ctx.node.attr_int("saturate", 1) != 0;
  const std::string mode = ctx.node.attr_string("round_mode", "up");
  constexpr uint32_t kNan = 0xff, kLargest = 0xfe;
  const std::span<uint8_t> out = {static_cast<uint8_t*>(ctx.outputs[0].mutable_data()),
                                  static_cast<size_t>(ctx.outputs[0].volume())};
  for (size_t i = 0; i < out.size(); ++i) {
    const auto value = static_cast<float>(ctx.in(0).get_f64(static_cast<int64_t>(i)));
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    uint32_t exponent = (bits >> 23) & 0xff;
    const uint32_t fraction = bits & 0x7fffff;
    if (std::isnan(value)) {
      exponent = kNan;
    } else if (std::isinf(value)) {
      exponent = saturate ? kLargest : kNan;
    } else if (value == 0 && !saturate) {
      exponent = kNan;
    } else {
      const uint32_t half = 0x400000;
      const bool up =
          mode == "up" ? fraction != 0 : mode == "nearest" && (fraction > half || (fraction == half && exponent > 0));
      if (up) ++exponent;
      if (saturate && exponent > kLargest) exponent = kLargest;
    }
    out[i] = static_cast<uint8_t>(exponent);
  }
  return Status();
}

Status infer_bit_cast(InferContext& ctx) {
  const DType to = ctx.node().attr_dtype("to");
  if (!accepts(Accept::kAny, ctx.dtype(0)) || dtype_bits(to) != dtype_bits(ctx.dtype(0)))
    return ctx.fail("{} and {} have different widths", dtype_name(ctx.dtype(0)), dtype_name(to));
  ctx.set_output(0, to, ctx.shape(0));
  return Status();
}

Status bit_cast_reference(EvalContext& ctx) {
  if (ctx.in(0).bytes() > 0) std::memcpy(ctx.outputs[0].mutable_data(), ctx.in(0).data(), ctx.in(0).bytes());
  return Status();
}

const OpDef kCast{.name = "Cast",
                  .attributes = {{"to", AttrKind::kDType, true}, {"saturate", AttrKind::kInt}},
                  .lowering = Lowering::kPointwise,
                  .pointwise = cast_expression,
                  .traits = {}};
const OpDef kCastE8M0{.name = "CastE8M0",
                      .attributes = {{"round_mode", AttrKind::kString}, {"saturate", AttrKind::kInt}},
                      .infer = infer_cast_e8m0,
                      .reference = cast_e8m0_reference,
                      .traits = {}};
const OpDef kBitCast{.name = "BitCast",
                     .attributes = {{"to", AttrKind::kDType, true}},
                     .infer = infer_bit_cast,
                     .reference = bit_cast_reference,
                     .lowering = Lowering::kView,
                     .traits = {}};
const OpDef* const kCastDefs[] = {&kCast, &kCastE8M0, &kBitCast};

}  // namespace

std::span<const OpDef* const> cast_ops() { return kCastDefs; }

}  // namespace wootz::ops
