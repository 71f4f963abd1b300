#include "tuner/offers.h"

#include <algorithm>
#include <unordered_map>

#include "backend/control.h"
#include "tuner/cache/tactic_text.h"
#include "tuner/measure/problem_class.h"

namespace wootz {
namespace {

// The runtime runs the bodies itself, whose steps are chosen on their own.
Candidate control_candidate(const Problem& problem) {
  Candidate c;
  c.tactic = control_tactic();
  c.input_layouts.assign(problem.inputs.size(), Layout::kLinear);
  c.output_layouts.assign(problem.outputs.size(), Layout::kLinear);
  return c;
}

// What a kernel computes is not measured against its reference: on random operands, whose values may mean places or
// counts, either may refuse, and the reference is slow by design.
void drop_fallback(std::vector<Candidate>* offers, std::vector<Refusal>* refused) {
  const auto is_fallback = [](const Candidate& c) {
    return c.tactic.provider == "reference" || c.tactic.provider == "host";
  };
  if (std::all_of(offers->begin(), offers->end(), is_fallback)) return;
  for (const Candidate& c : *offers)
    if (is_fallback(c)) refused->push_back({c.tactic.kernel, "a kernel computes this"});
  std::erase_if(*offers, is_fallback);
}

// What the kernel has in the device's memory when it runs at the largest extents.
size_t memory_of(const Problem& problem, const Candidate& candidate) {
  size_t bytes = candidate.workspace;
  const auto add = [&](const std::vector<TensorDesc>& operands, const std::vector<Layout>& layouts) {
    for (size_t i = 0; i < operands.size(); ++i) {
      const TensorDesc& t = operands[i];
      if (t.dtype == DType::kInvalid) continue;
      const Layout layout = i < layouts.size() && layouts[i] != Layout::kOpaque ? layouts[i] : Layout::kLinear;
      const size_t more = layout_bytes(layout, t.dtype, t.max_dims);
      bytes = more > SIZE_MAX - bytes ? SIZE_MAX : bytes + more;
    }
  };
  add(problem.inputs, candidate.input_layouts);
  add(problem.outputs, candidate.output_layouts);
  return bytes;
}

void apply_memory_limits(const Problem& problem, const ChooseOptions& options, EvaluatedCandidate* evaluated) {
  const Candidate& c = evaluated->candidate;
  if (c.workspace > options.limits.workspace)
    evaluated->refusal =
        fmt::format("needs {} bytes of workspace, the limit is {}", c.workspace, options.limits.workspace);
  else if (const size_t bytes = memory_of(problem, c); bytes > options.operand_memory)
    evaluated->refusal = fmt::format("needs {} bytes for operands, results and workspace, the limit for a tactic is {}",
                                     bytes, options.operand_memory);
  evaluated->over_limit = !evaluated->refusal.empty();
}

void strike_last_resorts(const Problem& problem, const ChooseOptions& options, std::vector<EvaluatedCandidate>* all) {
  if (!options.last_resort) return;
  const auto free = [&](const EvaluatedCandidate& e) {
    return e.refusal.empty() && !options.last_resort(problem, e.candidate);
  };
  if (std::none_of(all->begin(), all->end(), free)) return;
  for (EvaluatedCandidate& e : *all)
    if (e.refusal.empty() && options.last_resort(problem, e.candidate))
      e.refusal = "it is of a source of tactics that is switched off";
}

StepReport offers_for(const Step& step, const std::vector<const Provider*>& providers, const ChooseOptions& options) {
  StepReport report;
  report.step = step.name;
  std::vector<Candidate> offers;
  for (const Provider* provider : providers) provider->tactics(step.problem, options.limits, &offers, &report.refused);
  if (options.more) options.more(step.problem, &offers);
  if (is_control(step)) offers = {control_candidate(step.problem)};
  drop_fallback(&offers, &report.refused);
  for (Candidate& offer : offers) {
    EvaluatedCandidate evaluated;
    evaluated.candidate = std::move(offer);
    evaluated.rivals = offers.size() - 1;
    evaluated.us = evaluated.candidate.estimate_us;
    if (!is_control(step)) apply_memory_limits(step.problem, options, &evaluated);
    report.evaluated.push_back(std::move(evaluated));
  }
  strike_last_resorts(step.problem, options, &report.evaluated);
  return report;
}

Status cost_step(const Step& step, StepIndex number, const ChooseOptions& options, StepReport* report) {
  for (size_t c = 0; c < report->evaluated.size(); ++c) {
    EvaluatedCandidate& evaluated = report->evaluated[c];
    if (options.cost && evaluated.refusal.empty())
      WOOTZ_RETURN_IF_ERROR(options.cost(with_layouts(step.problem, evaluated.candidate), number, &evaluated));
    if (evaluated.disproves.empty()) continue;
    for (size_t e = 0; e < c; ++e) {
      EvaluatedCandidate& earlier = report->evaluated[e];
      if (tactic_text(with_layouts(step.problem, earlier.candidate), earlier.candidate.tactic) == evaluated.disproves)
        earlier.refusal = evaluated.disproof;
    }
  }
  return check_usable(step, *report);
}

}  // namespace

Choice gather_offers(const Program& program, const std::vector<const Provider*>& providers,
                     const ChooseOptions& options) {
  Choice choice;
  std::unordered_map<std::string, StepIndex> first_of;
  for (const StepIndex s : program.steps.indices()) {
    const Step& step = program.steps[s];
    // Of one class, the first is measured; what is then chosen for another is run once, to be proven.
    const auto [first, fresh] = first_of.try_emplace(options.select                      ? std::to_string(s.number())
                                                     : options.by_class && options.prove ? class_key(step.problem)
                                                                                         : step.problem.key(),
                                                     s);
    choice.offered_to.push_back(first->second);
    choice.steps.push_back(fresh ? offers_for(step, providers, options) : StepReport());
    choice.steps.back().step = step.name;
  }
  return choice;
}

Status cost_offers(const Program& program, const ChooseOptions& options, Choice* choice) {
  const size_t count = program.steps.size();
  for (const StepIndex s : program.steps.indices()) {
    const Step& step = program.steps[s];
    if (options.progress && !options.progress(s.position(), count, step.name))
      return make_error(Code::kCancelled, "cancelled while choosing tactics, at layer {} of {}", s, count);
    StepReport& report = choice->steps[s];
    const StepIndex first = choice->offered_to[s];
    if (first == s) {
      if (options.select) WOOTZ_RETURN_IF_ERROR(options.select(s, &report));
      WOOTZ_RETURN_IF_ERROR(cost_step(step, s, options, &report));
      continue;
    }
    report.evaluated = choice->steps[first].evaluated;
    report.refused = choice->steps[first].refused;
    if (options.by_class && program.steps[first].problem.key() != step.problem.key())
      for (EvaluatedCandidate& c : report.evaluated) c.borrowed = c.measured;
  }
  return Status();
}

}  // namespace wootz
