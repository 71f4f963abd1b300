#include "lower/context.h"

namespace wootz {

Result<bool> lower_hardmax(LowerContext& ctx, const Node& node) {
  if (node.input(0)->rank() == 0) return false;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kHardmax, 1));
  WOOTZ_ASSIGN_OR_RETURN(step.problem.as<HardmaxParams>().axis,
                         normalize_axis(node.attr_int("axis", -1), node.input(0)->rank()));
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace wootz
