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

// The expression on the product times operand 1, where there are `rows`, plus the next one, where there is a `bias`.
// These come before the others.
PointwiseExpr after_rows_and_bias(const PointwiseExpr& e, bool rows, bool bias) {
  PointwiseExpr made;
  uint16_t value = made.input(0, DType::kF32), next = 1;
  if (rows) value = made.push(PwOp::kMul, DType::kF32, value, made.input(next++, DType::kF32));
  if (bias) value = made.push(PwOp::kAdd, DType::kF32, value, made.input(next++, DType::kF32));
  const auto more = static_cast<uint16_t>(next - 1);
  made.outputs = append_expression(&made, e, [&](const PwInstr& load) {
    return load.a == 0 ? value : made.input(static_cast<uint16_t>(load.a + more), load.type);
  });
  made.num_inputs = static_cast<uint16_t>(std::max<int>(1, e.num_inputs) + more);
  if (made.outputs.empty()) made.outputs = {value};
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

Result<bool> lower_blocks(LowerContext& ctx, const Node& node) {
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kBlockGemm, 4));
  auto& params = step.problem.as<BlockGemmParams>();
  params.w_block = node.attr_int("w_block");
  params.w_columns = node.attr_int("w_columns", 1);
  params.factor = node.attr_floats("x_scale", {1})[0];
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

// Products of floats of 8 bits have no bias of their own: where no library adds it, it is added by what comes after.
void move_bias_to_epilogue(Step* step) {
  step->problem.epilogue = after_rows_and_bias(step->problem.epilogue, false, true);
  step->problem.acc_dtype = DType::kF32;
  step->problem.num_main = 2;
}

// What a product is multiplied by, row by row, is the first that its epilogue does; a bias is added after that.
Status put_rows_into_epilogue(LowerContext& ctx, const Node& node, Step* step) {
  const bool bias = node.input(2) != nullptr;
  WOOTZ_ASSIGN_OR_RETURN(const TensorIndex scales, ctx.tensor(node.input(3)));
  std::vector<TensorIndex> first{scales};
  if (bias) {
    WOOTZ_ASSIGN_OR_RETURN(const TensorIndex added, ctx.tensor(node.input(2)));
    first.push_back(added);
  }
  step->inputs.insert(step->inputs.begin() + 2, first.begin(), first.end());
  step->problem.epilogue = after_rows_and_bias(step->problem.epilogue, true, bias);
  step->problem.acc_dtype = DType::kF32;
  return Status();
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
  if (node.is("BlockMatMul")) return lower_blocks(ctx, node);
  const bool rows = main > 3 && node.input(3) != nullptr, bias = main > 2 && node.input(2) != nullptr && !rows;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kGemm, bias ? 3 : 2));
  auto& params = step.problem.as<GemmParams>();
  params.trans_a = node.attr_int("trans_a", 0) != 0;
  params.trans_b = node.attr_int("trans_b", 0) != 0;
  params.alpha = node.attr_float("alpha", 1);
  read_grids(node, &params);
  if (rows) WOOTZ_RETURN_IF_ERROR(put_rows_into_epilogue(ctx, node, &step));
  if (bias && is_fp8(node.input(0)->dtype()))
    move_bias_to_epilogue(&step);
  else
    params.has_bias = bias;
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace wootz
