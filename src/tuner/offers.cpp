#include "tuner/offers.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>

#include "backend/concurrent.h"
#include "backend/control.h"
#include "base/tasks.h"
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

bool has_blocks(const Candidate& candidate) {
  const auto blocked = [](Layout layout) { return layout == Layout::kBlocked8 || layout == Layout::kBlocked16; };
  return std::any_of(candidate.input_layouts.begin(), candidate.input_layouts.end(), blocked) ||
         std::any_of(candidate.output_layouts.begin(), candidate.output_layouts.end(), blocked);
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

// What one provider says of one problem.
struct Answer {
  std::vector<Candidate> offers;
  std::vector<Refusal> refused;
};
// By provider, nothing where it has to be asked on the build's own thread.
using Answers = std::vector<std::optional<Answer>>;

bool is_concurrent(const Provider* provider) { return dynamic_cast<const ConcurrentProvider*>(provider) != nullptr; }

Answers ask_concurrent(const Problem& problem, const std::vector<const Provider*>& providers, const Limits& limits) {
  Answers answers(providers.size());
  for (size_t p = 0; p < providers.size(); ++p) {
    if (!is_concurrent(providers[p])) continue;
    Answer& answer = answers[p].emplace();
    providers[p]->tactics(problem, limits, &answer.offers, &answer.refused);
  }
  return answers;
}

StepReport offers_for(const Step& step, const std::vector<const Provider*>& providers, const ChooseOptions& options,
                      Answers* answers) {
  StepReport report;
  report.step = step.name;
  std::vector<Candidate> offers;
  for (size_t p = 0; p < providers.size(); ++p) {
    if ((*answers)[p]) {
      std::move((*answers)[p]->offers.begin(), (*answers)[p]->offers.end(), std::back_inserter(offers));
      std::move((*answers)[p]->refused.begin(), (*answers)[p]->refused.end(), std::back_inserter(report.refused));
    } else {
      providers[p]->tactics(step.problem, options.limits, &offers, &report.refused);
    }
  }
  if (options.more) options.more(step.problem, &offers);
  if (is_control(step)) offers = {control_candidate(step.problem)};
  drop_fallback(&offers, &report.refused);
  for (Candidate& offer : offers) {
    EvaluatedCandidate evaluated;
    evaluated.candidate = std::move(offer);
    evaluated.rivals = offers.size() - 1;
    evaluated.us = evaluated.candidate.estimate_us;
    if (!is_control(step)) apply_memory_limits(step.problem, options, &evaluated);
    if (options.portable && has_blocks(evaluated.candidate))
      evaluated.refusal = "its blocks are as wide as one kind of processor has registers, and the plan is portable";
    report.evaluated.push_back(std::move(evaluated));
  }
  strike_last_resorts(step.problem, options, &report.evaluated);
  return report;
}

// Why a proposal is not worth timing: those that its provider ranks before it took much longer than the best of all.
std::string lost_before(const StepReport& report, const Candidate& own) {
  constexpr int kEnough = 3;
  constexpr double kLost = 1.25;
  double best = 0, best_of_these = 0;
  int tried = 0;
  for (const EvaluatedCandidate& e : report.evaluated) {
    if (!e.measured || !e.refusal.empty()) continue;
    if (best == 0 || e.us < best) best = e.us;
    const Candidate& c = e.candidate;
    if (!c.ranked || c.tactic.provider != own.tactic.provider || c.tactic.kernel != own.tactic.kernel ||
        !same_layouts(c, own))
      continue;
    ++tried;
    if (best_of_these == 0 || e.us < best_of_these) best_of_these = e.us;
  }
  if (tried < kEnough || best_of_these <= kLost * best) return {};
  return fmt::format("the first {} proposals of {} take {:.2f} times the best tactic's time: not timed", tried,
                     own.tactic.provider, best_of_these / best);
}

Status cost_candidate(const Step& step, StepIndex number, const ChooseOptions& options, size_t c, StepReport* report) {
  EvaluatedCandidate& evaluated = report->evaluated[c];
  if (options.cost && evaluated.refusal.empty())
    WOOTZ_RETURN_IF_ERROR(options.cost(with_layouts(step.problem, evaluated.candidate), number, &evaluated));
  if (evaluated.disproves.empty()) return Status();
  for (EvaluatedCandidate& earlier : report->evaluated)
    if (&earlier != &evaluated &&
        tactic_text(with_layouts(step.problem, earlier.candidate), earlier.candidate.tactic) == evaluated.disproves)
      earlier.refusal = evaluated.disproof;
  return Status();
}

// Proposals that are ranked come last.
Status cost_step(const Step& step, StepIndex number, const ChooseOptions& options, StepReport* report) {
  for (const bool ranked : {false, true})
    for (size_t c = 0; c < report->evaluated.size(); ++c) {
      EvaluatedCandidate& evaluated = report->evaluated[c];
      if (evaluated.candidate.ranked != ranked) continue;
      if (ranked && options.cost && evaluated.refusal.empty())
        evaluated.refusal = lost_before(*report, evaluated.candidate);
      WOOTZ_RETURN_IF_ERROR(cost_candidate(step, number, options, c, report));
    }
  return check_usable(step, *report);
}

// Steps that are asked for, in order, and for every other one whose offers it shares: of one class the first is
// measured, and what is then chosen for another is run once, to be proven.
std::vector<StepIndex> group_steps(const Program& program, const ChooseOptions& options, Choice* choice) {
  std::unordered_map<std::string, StepIndex> first_of;
  std::vector<StepIndex> distinct;
  for (const StepIndex s : program.steps.indices()) {
    const Problem& problem = program.steps[s].problem;
    const auto [first, fresh] = first_of.try_emplace(options.select                      ? std::to_string(s.number())
                                                     : options.by_class && options.prove ? class_key(problem)
                                                                                         : problem.key(),
                                                     s);
    choice->offered_to.push_back(first->second);
    if (fresh) distinct.push_back(s);
  }
  return distinct;
}

Status cancelled(const char* doing, size_t done, size_t count) {
  return make_error(Code::kCancelled, "cancelled while {}, at layer {} of {}", doing, done, count);
}

// What the application has to say, then everything that is left to be costed is got ready.
Status select_and_prepare(const Program& program, const ChooseOptions& options, Choice* choice) {
  std::vector<Wanted> wanted;
  for (const StepIndex s : program.steps.indices()) {
    if (choice->offered_to[s] != s) continue;
    if (options.select) WOOTZ_RETURN_IF_ERROR(options.select(s, &choice->steps[s]));
    for (const EvaluatedCandidate& c : choice->steps[s].evaluated)
      if (c.refusal.empty()) wanted.push_back({&program.steps[s].problem, s, &c});
  }
  return options.prepare ? options.prepare(wanted) : Status();
}

}  // namespace

Result<Choice> gather_offers(const Program& program, const std::vector<const Provider*>& providers,
                             const ChooseOptions& options) {
  Choice choice;
  const std::vector<StepIndex> distinct = group_steps(program, options, &choice);
  choice.steps.resize(program.steps.size());
  std::vector<Answers> answers(distinct.size(), Answers(providers.size()));
  const bool kept = KeptCodeScope::allowed();
  const auto ask = [&](size_t i) {
    const KeptCodeScope scope(kept);
    answers[i] = ask_concurrent(program.steps[distinct[i]].problem, providers, options.limits);
  };
  const auto tell = [&](size_t done) {
    return !options.progress || options.progress(done, distinct.size(), Moment::kOffered);
  };
  const bool any = std::any_of(providers.begin(), providers.end(), is_concurrent);
  if (any && !run_tasks(distinct.size(), options.threads, ask, tell))
    return cancelled("asking for tactics", 0, program.steps.size());
  for (size_t i = 0; i < distinct.size(); ++i)
    choice.steps[distinct[i]] = offers_for(program.steps[distinct[i]], providers, options, &answers[i]);
  for (const StepIndex s : program.steps.indices()) choice.steps[s].step = program.steps[s].name;
  return choice;
}

Status cost_offers(const Program& program, const ChooseOptions& options, Choice* choice) {
  const size_t count = program.steps.size();
  WOOTZ_RETURN_IF_ERROR(select_and_prepare(program, options, choice));
  for (const StepIndex s : program.steps.indices()) {
    const Step& step = program.steps[s];
    if (options.progress && !options.progress(s.position(), count, Moment::kCosted))
      return cancelled("choosing tactics", s.position(), count);
    StepReport& report = choice->steps[s];
    const StepIndex first = choice->offered_to[s];
    if (first == s) {
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
