// Rows that are rounded to 8 bits by scales of their own, with the normalization or the expression that makes them in
// one step where a provider offers to compute that: rows are read, then, while they are in registers or in the cache.
#include "backend/quantize_rows.h"

#include <algorithm>

#include "lower/context.h"

namespace wootz {

bool LowerContext::joins_rows(const Node& node, const Step& rounding) {
  const Value* const rows = node.input(0);
  if (options_.providers.empty()) return false;
  const bool keeps = rows->uses().size() > 1 || graph_.is_output(rows);
  for (Step& step : program().steps) {
    if (step.outputs.size() != 1 || step.outputs[0] != rounding.inputs[0]) continue;
    std::optional<Step> both = make_quantize_rows(step, rounding, keeps);
    if (!both) return false;
    both->provenance.insert(both->provenance.end(), rounding.provenance.begin(), rounding.provenance.end());
    describe_operands(&*both);
    if (!offered(*both)) return false;
    step = std::move(*both);
    return true;
  }
  return false;
}

Result<bool> lower_quantize_rows(LowerContext& ctx, const Node& node) {
  WOOTZ_ASSIGN_OR_RETURN(Step step, ctx.start_step(node, Family::kQuantizeRows, 1));
  auto& params = step.problem.as<QuantizeRowsParams>();
  params.divisor = node.attr_float("divisor", 127);
  params.factor = node.attr_float("factor", 0);
  params.least = node.attr_float("least", 0);
  params.empty = node.attr_float("empty", 0);
  step.problem.acc_dtype = DType::kF32;
  if (ctx.joins_rows(node, step)) return true;
  WOOTZ_RETURN_IF_ERROR(ctx.finish_step(&node, std::move(step)));
  return true;
}

}  // namespace wootz
