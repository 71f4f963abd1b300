// A chain is lowered as the nodes of its body one by one, and put together again where a provider offers to compute the
// steps as one.
#include "backend/chain.h"

#include "backend/squeeze_excite.h"
#include "lower/context.h"

namespace wootz {
namespace {

// Each reads the one result of the step before, as its first operand.
bool follow_each_other(std::span<const Step> steps) {
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].outputs.size() != 1 || steps[i].inputs.empty() ||
        (i > 0 && steps[i].inputs[0] != steps[i - 1].outputs[0]))
      return false;
  return true;
}

std::optional<Problem> problem_of(std::span<const Step> steps) {
  if (steps.size() == 2) return make_chain(steps[0].problem, steps[1].problem);
  std::vector<Problem> problems;
  for (const Step& step : steps) problems.push_back(step.problem);
  return make_squeeze_excite(problems);
}

}  // namespace

Result<bool> lower_chain(LowerContext& ctx, const Node& node) {
  const std::shared_ptr<Graph> body = node.attr_graph("body");
  if (body == nullptr || body->inputs().size() != static_cast<size_t>(node.num_inputs())) return false;
  std::vector<const Node*> inside;
  for (const Node* n = body->first(); n != nullptr; n = n->next()) inside.push_back(n);
  for (int i = 0; i < node.num_inputs(); ++i)
    WOOTZ_RETURN_IF_ERROR(ctx.stand_for(body->inputs()[static_cast<size_t>(i)], node.input(i)));
  WOOTZ_RETURN_IF_ERROR(ctx.stand_for(body->outputs()[0], node.output()));
  const StepIndex before = ctx.program().steps.next();
  for (const Node* n : inside) WOOTZ_RETURN_IF_ERROR(ctx.lower(*n));
  std::vector<Step> made;
  for (StepIndex s = before; s != ctx.program().steps.next(); s = s.next()) made.push_back(ctx.program().steps[s]);
  if (made.size() != inside.size() || made.size() < 2 || !follow_each_other(made)) return true;
  std::optional<Problem> problem = problem_of(made);
  if (!problem) return true;
  Step step;
  step.name = node.name();
  step.provenance = node.provenance();
  step.problem = std::move(*problem);
  step.inputs = made[0].inputs;
  for (size_t i = 1; i < made.size(); ++i)
    step.inputs.insert(step.inputs.end(), made[i].inputs.begin() + 1, made[i].inputs.end());
  step.outputs = made.back().outputs;
  if (ctx.offered(step)) ctx.replace_last(made.size(), node, std::move(step));
  return true;
}

}  // namespace wootz
