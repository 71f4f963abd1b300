#include <algorithm>

#include "base/expressions.h"
#include "base/fp8.h"
#include "lower/context.h"

namespace wootz {
namespace {

template <typename P>
void read_grids(const Node& node, P* params) {
  params->x_scale = node.attr_floats("x_scale");
  params->x_zero = node.attr_floats("x_zero");
  params->w_scale = node.attr_floats("w_scale");
  params->w_zero = node.attr_floats("w_zero");
}

// The expression on the sum of the product and operand 1, which comes before the others.
PointwiseExpr after_bias(const PointwiseExpr& e) {
  PointwiseExpr made;
  const uint16_t product = made.input(0, DType::kF32), bias = made.input(1, DType::kF32);
  const uint16_t sum = made.push(PwOp::kAdd, DType::kF32, product, bias);
  made.outputs = append_expression(&made, e, [&](const PwInstr& load) {
    return load.a == 0 ? sum : made.input(static_cast<uint16_t>(load.a + 1), load.type);
  });
  made.num_inputs = static_cast<uint16_t>(std::max<int>(1, e.num_inputs) + 1);
  if (made.outputs.empty()) made.outputs = {sum};
  return made;
}

// Where no kernel reads the packed weights, the product is one of plain floats (LowerContext::float_form).
Result<bool> lower_weight_only(LowerContext& ctx, const Node& node) {
  const bool zero = LowerContext::main_inputs(node) > 3 && node.input(3) != nullptr;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kGemm, zero ? 4 : 3));
  auto& params = step.problem.as<GemmParams>();
  params.trans_b = node.attr_int("trans_b", 0) != 0;
  params.w_block = node.attr_int("block");
  params.alpha = node.attr_float("alpha", 1);
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

// Products of floats of 8 bits have no bias of their own: where no library adds it, it is added by what comes after.
void move_bias_to_epilogue(Step* step) {
  step->problem.epilogue = after_bias(step->problem.epilogue);
  step->problem.acc_dtype = DType::kF32;
  step->problem.num_main = 2;
}

}  // namespace

Result<bool> lower_conv(LowerContext& ctx, const Node& node) {
  // Padding that follows from dynamic extents is worked out by the reference.
  if (node.has_attr("auto_pad")) return false;
  const int rank = node.input(0)->rank();
  const int main = LowerContext::main_inputs(node);
  const bool bias = main > 2 && node.input(2) != nullptr;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kConv, bias ? 3 : 2));
  const auto spatial = static_cast<size_t>(rank - 2);
  auto& params = step.problem.as<ConvParams>();
  params.strides = node.attr_ints("strides", Ints(spatial, 1));
  params.dilations = node.attr_ints("dilations", Ints(spatial, 1));
  params.pads = node.attr_ints("pads", Ints(2 * spatial, 0));
  params.groups = node.attr_int("groups", 1);
  params.has_bias = bias;
  params.transposed = node.is("ConvTranspose");
  if (params.transposed) params.output_pads = node.attr_ints("output_padding", Ints(spatial, 0));
  read_grids(node, &params);
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

Result<bool> lower_gemm(LowerContext& ctx, const Node& node) {
  const int main = LowerContext::main_inputs(node);
  if (node.input(0)->rank() < 2 || node.input(1)->rank() < 2) return false;  // vectors: rare, the reference
  if (node.is("WeightOnlyMatMul")) return lower_weight_only(ctx, node);
  const bool bias = main > 2 && node.input(2) != nullptr;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kGemm, bias ? 3 : 2));
  auto& params = step.problem.as<GemmParams>();
  params.trans_a = node.attr_int("trans_a", 0) != 0;
  params.trans_b = node.attr_int("trans_b", 0) != 0;
  params.alpha = node.attr_float("alpha", 1);
  read_grids(node, &params);
  if (bias && is_fp8(node.input(0)->dtype()))
    move_bias_to_epilogue(&step);
  else
    params.has_bias = bias;
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace wootz
