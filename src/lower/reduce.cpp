// Reductions and what reduces along the way: softmax, normalizations, pooling, top-k.
#include <map>

#include "lower/context.h"

namespace wootz {

Result<bool> lower_reduce(LowerContext& ctx, const Node& node) {
  if (node.is("ArgReduce")) return lower_topk(ctx, node);
  // Axes that are not constants decide the shape and were refused by inference, or are folded into the attribute.
  if (!node.has_attr("axes")) return false;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kReduce, 1));
  auto& params = step.problem.as<ReduceParams>();
  const auto kind = choice_from_name<ReduceKind>(node.attr_string("kind"));
  if (!kind) return false;
  params.kind = *kind;
  params.axes = node.attr_ints("axes");
  for (int64_t& axis : params.axes)
    if (axis < 0) axis += node.input(0)->rank();
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

Result<bool> lower_softmax(LowerContext& ctx, const Node& node) {
  if (node.input(0)->rank() == 0) return false;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kSoftmax, 1));
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(node.attr_int("axis", -1), node.input(0)->rank()));
  step.problem.params = SoftmaxParams{.axis = axis, .log = node.is("LogSoftmax")};
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

Result<bool> lower_norm(LowerContext& ctx, const Node& node) {
  static const std::map<std::string_view, NormKind> kinds = {{"LayerNorm", NormKind::kLayer},
                                                             {"RMSNorm", NormKind::kRms},
                                                             {"InstanceNorm", NormKind::kInstance},
                                                             {"GroupNorm", NormKind::kGroup},
                                                             {"L2Norm", NormKind::kL2}};
  const auto kind = kinds.find(node.op().name);
  if (kind == kinds.end() || node.num_outputs() != 1) return false;
  const int main = LowerContext::main_inputs(node);
  int count = 1;
  while (count < main && count < 3 && node.input(count) != nullptr) ++count;
  for (int i = count; i < main; ++i)
    if (node.input(i) != nullptr) return false;  // a bias without a scale
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kNorm, count));
  auto& params = step.problem.as<NormParams>();
  params.kind = kind->second;
  params.has_scale = count > 1;
  params.has_bias = count > 2;
  params.epsilon = node.attr_float("epsilon", node.is("L2Norm") ? 0 : 1e-5);
  params.groups = node.attr_int("groups", 1);
  if (node.is("LayerNorm") || node.is("RMSNorm") || node.is("L2Norm")) {
    WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(node.attr_int("axis", -1), node.input(0)->rank()));
    params.axis = axis;
  }
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

Result<bool> lower_pool(LowerContext& ctx, const Node& node) {
  if (node.has_attr("auto_pad")) return false;
  const int rank = node.input(0)->rank();
  if (rank < 3) return false;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kPool, 1));
  const auto spatial = static_cast<size_t>(rank - 2);
  auto& params = step.problem.as<PoolParams>();
  const auto kind = choice_from_name<PoolKind>(node.attr_string("kind"));
  if (!kind) return false;
  params.kind = *kind;
  params.global = node.attr_int("global", 0) != 0;
  params.kernel = node.attr_ints("kernel", Ints(spatial, 0));
  params.strides = node.attr_ints("strides", Ints(spatial, 1));
  params.dilations = node.attr_ints("dilations", Ints(spatial, 1));
  params.pads = node.attr_ints("pads", Ints(2 * spatial, 0));
  params.ceil = node.attr_int("ceil_mode", 0) != 0;
  params.count_include_pad = node.attr_int("count_include_pad", 0) != 0;
  params.p = node.attr_int("p", 2);
  params.storage_order = node.attr_int("storage_order", 0);
  params.x_scale = node.attr_floats("x_scale");
  params.x_zero = node.attr_floats("x_zero");
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

Result<bool> lower_topk(LowerContext& ctx, const Node& node) {
  if (node.input(0)->rank() == 0) return false;
  WOOTZ_ASSIGN_OR_RETURN(const int axis,
                         normalize_axis(node.attr_int("axis", node.is("TopK") ? -1 : 0), node.input(0)->rank()));
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kTopK, 1));
  auto& params = step.problem.as<TopKParams>();
  params.axis = axis;
  if (node.is("ArgReduce")) {
    const auto kind = choice_from_name<TopKKind>(node.attr_string("kind"));
    if (!kind || *kind == TopKKind::kTopK) return false;
    params.kind = *kind;
    params.select_last = node.attr_int("select_last", 0) != 0;
  } else {
    if (!node.has_attr("k") || node.num_outputs() != 2) return false;
    params.k = node.attr_int("k");
    params.largest = node.attr_int("largest", 1) != 0;
    params.sorted = node.attr_int("sorted", 1) != 0;
    params.softmax = node.attr_int("softmax", 0) != 0;
  }
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace wootz
