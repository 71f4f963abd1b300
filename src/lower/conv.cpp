#include "lower/context.h"

namespace wootz {
namespace {

void copy_quantization(const Node& node, const char* from, const char* to, Step* step) {
  if (node.has_attr(from)) step->problem.params[to] = node.attr_floats(from);
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
  auto& params = step.problem.params;
  params["strides"] = node.attr_ints("strides", std::vector<int64_t>(spatial, 1));
  params["dilations"] = node.attr_ints("dilations", std::vector<int64_t>(spatial, 1));
  params["pads"] = node.attr_ints("pads", std::vector<int64_t>(2 * spatial, 0));
  params["groups"] = node.attr_int("groups", 1);
  params["has_bias"] = int64_t{bias};
  const bool transposed = node.is("ConvTranspose");
  params["transposed"] = int64_t{transposed};
  if (transposed) params["output_pads"] = node.attr_ints("output_padding", std::vector<int64_t>(spatial, 0));
  for (const char* name : {"x_scale", "x_zero", "w_scale", "w_zero"}) copy_quantization(node, name, name, &step);
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

Result<bool> lower_gemm(LowerContext& ctx, const Node& node) {
  const int main = LowerContext::main_inputs(node);
  if (node.input(0)->rank() < 2 || node.input(1)->rank() < 2) return false;  // vectors: rare, the reference
  const bool bias = main > 2 && node.input(2) != nullptr;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kGemm, bias ? 3 : 2));
  auto& params = step.problem.params;
  params["trans_a"] = node.attr_int("trans_a", 0);
  params["trans_b"] = node.attr_int("trans_b", 0);
  params["alpha"] = node.attr_float("alpha", 1);
  params["has_bias"] = int64_t{bias};
  copy_quantization(node, "x_scale", "a_scale", &step);
  copy_quantization(node, "x_zero", "a_zero", &step);
  copy_quantization(node, "w_scale", "b_scale", &step);
  copy_quantization(node, "w_zero", "b_zero", &step);
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace wootz
