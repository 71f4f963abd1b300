// A chain is lowered as the nodes of its body one by one, and put together again where a provider offers to compute the
// two steps as one.
#include "backend/chain.h"
#include "lower/context.h"

namespace wootz {

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
  if (ctx.program().steps.next() != before.next().next()) return true;
  const Step &first = ctx.program().steps[before], &second = ctx.program().steps[before.next()];
  if (first.outputs.size() != 1 || second.outputs.size() != 1 || second.inputs.empty() ||
      second.inputs[0] != first.outputs[0])
    return true;
  Step step;
  step.name = node.name();
  step.provenance = node.provenance();
  step.problem = make_chain(first.problem, second.problem);
  step.inputs = first.inputs;
  step.inputs.insert(step.inputs.end(), second.inputs.begin() + 1, second.inputs.end());
  step.outputs = second.outputs;
  if (!ctx.offered(step)) return true;
  ctx.replace_last(2, node, std::move(step));
  return true;
}

}  // namespace wootz
