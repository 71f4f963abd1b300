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
  const bool bias = main > 2 && node.input(2) != nullptr;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kGemm, bias ? 3 : 2));
  auto& params = step.problem.as<GemmParams>();
  params.trans_a = node.attr_int("trans_a", 0) != 0;
  params.trans_b = node.attr_int("trans_b", 0) != 0;
  params.alpha = node.attr_float("alpha", 1);
  params.has_bias = bias;
  read_grids(node, &params);
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace wootz
