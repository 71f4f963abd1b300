#include "ops/support/pointwise.h"

#include "lower/context.h"

namespace wootz {

Result<bool> lower_pointwise(LowerContext& ctx, const Node& node) {
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kPointwise, node.num_inputs()));
  WOOTZ_ASSIGN_OR_RETURN(step.problem.epilogue, node_expression(node));
  step.problem.num_main = 0;
  step.problem.acc_dtype = step.problem.epilogue.output_type();
  if (ctx.joins_norm(step) || ctx.joins_attention(node, step)) return true;
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace wootz
