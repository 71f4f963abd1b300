#include "tuner/choice.h"

#include <algorithm>

namespace wootz {

Problem with_layouts(const Problem& problem, const Candidate& candidate) {
  Problem p = problem;
  for (size_t i = 0; i < p.inputs.size(); ++i) p.inputs[i].layout = candidate.input_layouts[i];
  for (size_t o = 0; o < p.outputs.size(); ++o) p.outputs[o].layout = candidate.output_layouts[o];
  return p;
}

Status check_usable(const Step& step, const StepReport& report) {
  const auto usable = [](const EvaluatedCandidate& c) { return c.refusal.empty(); };
  if (std::any_of(report.evaluated.begin(), report.evaluated.end(), usable)) return {};
  std::string why;
  for (const Refusal& r : report.refused) why += fmt::format("\n  {}: {}", r.kernel, r.reason);
  for (const EvaluatedCandidate& c : report.evaluated)
    why += fmt::format("\n  {}: {}", c.candidate.tactic.to_string(), c.refusal);
  return unsupported("no tactic for layer '{}' ({}):{}", step.name, family_name(step.problem.family()), why);
}

}  // namespace wootz
