#include "tuner/measure/prove.h"

#include <algorithm>

namespace wootz {

Proofs::Proofs(const Program& program, const ChooseOptions& options) : program_(program), options_(options) {
  if (!options.prove) return;
  for (const StepIndex s : program.steps.indices()) equal_[program.steps[s].problem.key()].push_back(s);
}

// Its results' extents are known only when it has run: no benchmark can make room for them.
bool Proofs::sized_by_running(const Step& step) const {
  return std::any_of(program_.symbols.begin(), program_.symbols.end(), [&](const PlanSymbol& s) {
    return s.source == SymbolSource::kDataDependent && s.tensor.exists() &&
           std::find(step.outputs.begin(), step.outputs.end(), s.tensor) != step.outputs.end();
  });
}

void Proofs::warn(const Step& step, const EvaluatedCandidate& refused) const {
  if (!options_.warn) return;
  options_.warn(fmt::format("layer '{}': {} {}, another is chosen: {}", step.name, refused.candidate.tactic.to_string(),
                            refused.known ? "is known to the timing cache and fails here"
                                          : "was to be chosen without being measured and fails a benchmark run",
                            refused.refusal));
}

// A choice that is to be run: it was not measured now, and not run before.
bool Proofs::open(StepIndex s, StepIndex first, int chosen, const EvaluatedCandidate& c) const {
  if ((c.measured && !c.known && !c.borrowed) || !c.refusal.empty() || sized_by_running(program_.steps[s]))
    return false;
  return proved_.count({first, chosen}) == 0;
}

Status Proofs::prepare(const IndexedVector<StepIndex, int>& chosen, const Choice& choice) const {
  if (!options_.prepare) return Status();
  std::vector<Wanted> wanted;
  for (const auto& [key, steps] : equal_)
    for (const StepIndex s : steps) {
      const EvaluatedCandidate& c = choice.steps[s].evaluated[static_cast<size_t>(chosen[s])];
      if (open(s, steps[0], chosen[s], c)) wanted.push_back({&program_.steps[s].problem, s, &c});
    }
  return options_.prepare(wanted);
}

Result<bool> Proofs::refuse_failing(const IndexedVector<StepIndex, int>& chosen, Choice* choice) {
  WOOTZ_RETURN_IF_ERROR(prepare(chosen, *choice));
  bool any = false;
  for (const auto& [key, steps] : equal_) {
    for (const StepIndex s : steps) {
      const auto number = static_cast<size_t>(chosen[s]);
      EvaluatedCandidate& c = choice->steps[s].evaluated[number];
      if (!open(s, steps[0], chosen[s], c)) continue;
      proved_.emplace(steps[0], chosen[s]);
      WOOTZ_RETURN_IF_ERROR(options_.prove(with_layouts(program_.steps[s].problem, c.candidate), s, &c));
      ++choice->proved;
      const EvaluatedCandidate proved = c;
      for (const StepIndex k : steps) choice->steps[k].evaluated[number] = proved;
      if (proved.refusal.empty()) continue;
      any = true;
      ++choice->disproved;
      warn(program_.steps[s], proved);
      WOOTZ_RETURN_IF_ERROR(check_usable(program_.steps[s], choice->steps[s]));
    }
  }
  return any;
}

}  // namespace wootz
