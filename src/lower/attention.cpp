#include "lower/context.h"

namespace wootz {

Result<bool> lower_attention(LowerContext& ctx, const Node& node) {
  if (node.num_outputs() != 1 || !node.has_attr("scale")) return false;
  const int main = LowerContext::main_inputs(node);
  for (int i = 4; i < main; ++i)
    if (node.input(i) != nullptr) return false;
  const bool mask = main > 3 && node.input(3) != nullptr;
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kAttention, mask ? 4 : 3));
  auto& params = step.problem.as<AttentionParams>();
  params.scale = node.attr_float("scale", 1);
  params.causal = node.attr_int("causal", 0) != 0;
  params.softcap = node.attr_float("softcap", 0);
  params.has_mask = mask;
  params.k_transposed = node.attr_int("k_transposed", 0) != 0;
  params.merged = node.attr_int("merged", 0);
  params.nan_rows = node.attr_int("nan_rows", 0);
  params.q_view = node.attr_ints("q_view");
  params.k_view = node.attr_ints("k_view");
  params.v_view = node.attr_ints("v_view");
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace wootz
