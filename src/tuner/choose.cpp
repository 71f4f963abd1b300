#include "tuner/choose.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "tuner/between.h"
#include "tuner/layout/border.h"
#include "tuner/layout/reformats.h"
#include "tuner/measure/prove.h"
#include "tuner/offers.h"

namespace wootz {

namespace {

constexpr int kSweeps = 8;
constexpr double kReformatUs = 1.5;                  // what a reformat of nothing takes
constexpr size_t kTimedReformats = size_t{1} << 30;  // numbers for ChooseOptions::cost that no step has
constexpr double kImpossible = 1e12;                 // microseconds: worse than anything that can be done
// A measured time is exact only within so much of it, however little it varied: the step will run among others.
constexpr double kLeastNoise = 0.03;
constexpr double kSameTotal = 0.03;   // of a whole network's time: less is not to be measured
constexpr double kWithinNoise = 0.1;  // of a difference that may be chance: it decides between equals

// A candidate per step, and how many readers of each tensor want it in each layout.
struct State {
  IndexedVector<StepIndex, int> chosen;
  IndexedVector<TensorIndex, std::array<int32_t, kLayoutCount>> wanted;
};

// The search's view of the program. A tensor's layout follows from its producer's candidate.
class Search {
 public:
  Search(const Program& program, const Choice& choice, const ChooseOptions& options,
         const std::vector<const Provider*>& providers)
      : program_(program), choice_(choice), options_(options), reformats_(providers, options.limits) {
    producer_.assign(program.tensors.size(), {StepIndex(), 0});
    viewed_.assign(program.tensors.size(), 0);
    direct_.assign(program.tensors.size(), 0);
    for (const TensorIndex t : program.tensors.indices())
      if (options.border != nullptr)
        for (const BorderWish& wish : *options.border)
          direct_[t] =
              direct_[t] || (wish.direct && is_border(program.tensors[t]) && program.tensors[t].name == wish.tensor);
    for (const PlanTensor& t : program.tensors)
      if (t.kind == TensorKind::kView) viewed_[t.view_of] = 1;
    for (const StepIndex s : program.steps.indices()) {
      const Step& step = program.steps[s];
      for (size_t o = 0; o < step.outputs.size(); ++o)
        if (step.outputs[o].exists()) producer_[step.outputs[o]] = {s, o};
    }
  }

  // To be called before the search, and again when candidates were refused meanwhile.
  void discount_noise() {
    discounted_.clear();
    for (const StepReport& step : choice_.steps) discounted_.push_back(discount(step.evaluated));
  }

  // Every step's greedy choice, or the best that makes `layout`.
  State start(int layout) const {
    State state;
    state.chosen.resize(program_.steps.size());
    state.wanted.resize(program_.tensors.size());
    for (const StepIndex s : state.chosen.indices()) {
      state.chosen[s] = greedy_choice(s, layout);
      count_wanted(s, state.chosen[s], 1, &state);
    }
    return state;
  }

  // Coordinate descent, forward and backward, until nothing improves.
  void improve(State* state) const {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool changed = false;
      const size_t count = state->chosen.size();
      for (size_t k = 0; k < count; ++k) {
        const StepIndex s(sweep % 2 ? count - 1 - k : k);
        const std::vector<EvaluatedCandidate>& all = choice_.steps[s].evaluated;
        if (all.size() < 2) continue;
        const int before = state->chosen[s];
        int best = before;
        double best_us = local_cost(s, best, state);
        for (int c = 0; c < static_cast<int>(all.size()); ++c) {
          if (!all[static_cast<size_t>(c)].refusal.empty() || c == before) continue;
          const double us = local_cost(s, c, state);
          if (us < best_us * (1 - 1e-9)) {
            best_us = us;
            best = c;
          }
        }
        changed = changed || best != before;
        move_to(s, best, state);
      }
      if (!changed) break;
    }
  }

  // Of all steps and reformats: as the search discounts them, or as they were measured.
  double total(const State& state, bool as_discounted) const {
    double us = 0;
    for (const StepIndex s : state.chosen.indices()) {
      const auto c = static_cast<size_t>(state.chosen[s]);
      us += as_discounted ? discounted_[s][c] : choice_.steps[s].evaluated[c].us;
    }
    IndexedVector<TensorIndex, uint8_t> seen(program_.tensors.size(), 0);
    for (const Step& step : program_.steps) {
      const auto add = [&](TensorIndex t, const TensorDesc& desc) {
        if (!t.exists() || seen[t] || desc.constant) return;
        seen[t] = 1;
        us += tensor_cost(t, desc, state);
      };
      for (size_t i = 0; i < step.inputs.size(); ++i) add(step.inputs[i], step.problem.inputs[i]);
      for (size_t o = 0; o < step.outputs.size(); ++o) add(step.outputs[o], step.problem.outputs[o]);
    }
    return us;
  }

  size_t count_reformats(const State& state) const {
    size_t count = 0;
    for (const StepIndex s : state.chosen.indices()) {
      const Step& step = program_.steps[s];
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        if (!step.inputs[i].exists() || step.problem.inputs[i].constant) continue;
        count += !same_memory(program_, step.inputs[i], step.problem.inputs[i], layout_of(step.inputs[i], state),
                              candidate(s, state.chosen[s]).candidate.input_layouts[i]);
      }
    }
    return count;
  }

 private:
  static bool is_border(const PlanTensor& t) { return t.kind == TensorKind::kInput || t.kind == TensorKind::kOutput; }

  // What the search goes by. A difference counts as far as it exceeds the uncertainty of the measurements of
  // the two; otherwise a layout would be changed, and changed back, for the noise of a busy machine.
  static std::vector<double> discount(const std::vector<EvaluatedCandidate>& all) {
    const EvaluatedCandidate* best = nullptr;
    for (const EvaluatedCandidate& c : all)
      if (c.refusal.empty() && (best == nullptr || c.us < best->us)) best = &c;
    const auto noise = [](const EvaluatedCandidate& c) {
      return c.measured ? c.us * std::min(0.5, std::max(kLeastNoise, c.spread)) : 0.0;
    };
    std::vector<double> discounted;
    for (const EvaluatedCandidate& c : all) {
      const double more = best == nullptr ? 0 : c.us - best->us;
      const double uncertain = more <= 0 ? 0 : std::min(more, noise(c) + noise(*best));
      discounted.push_back(c.us - (1 - kWithinNoise) * uncertain);
    }
    return discounted;
  }

  const EvaluatedCandidate& candidate(StepIndex s, int c) const {
    return choice_.steps[s].evaluated[static_cast<size_t>(c)];
  }

  Layout layout_of(TensorIndex tensor, const State& state) const {
    const auto [s, o] = producer_[tensor];
    if (!s.exists()) return program_.tensors[tensor].layout;
    return candidate(s, state.chosen[s]).candidate.output_layouts[o];
  }

  void count_wanted(StepIndex s, int c, int32_t by, State* state) const {
    const Step& step = program_.steps[s];
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (!step.inputs[i].exists()) continue;
      const Layout layout = candidate(s, c).candidate.input_layouts[i];
      if (layout != Layout::kOpaque) state->wanted[step.inputs[i]][static_cast<size_t>(layout)] += by;
    }
  }

  void move_to(StepIndex s, int c, State* state) const {
    if (state->chosen[s] == c) return;
    count_wanted(s, state->chosen[s], -1, state);
    state->chosen[s] = c;
    count_wanted(s, c, 1, state);
  }

  double reformat_us(TensorIndex tensor, const TensorDesc& desc, Layout from, Layout to) const {
    if (desc.constant || same_memory(program_, tensor, desc, from, to)) return 0;
    if (!can_reformat(desc, from, to)) return kImpossible;
    return kReformatUs + moved_bytes(desc) / bytes_per_us(desc, from, to);
  }

  static double moved_bytes(const TensorDesc& desc) {
    return 2.0 * static_cast<double>(dtype_bytes(desc.dtype, desc.dims.volume()));
  }

  // Measured once for each element type, rank and pair of layouts, on the largest such tensor of the network; and taken
  // to be the same for smaller ones.
  double bytes_per_us(const TensorDesc& desc, Layout from, Layout to) const {
    const auto key = std::make_tuple(desc.dtype, desc.dims.rank(), from, to);
    const auto [rate, fresh] = rates_.try_emplace(key, options_.reformat_gb_per_s * 1e3);
    if (!fresh || !options_.cost) return rate->second;
    const Problem problem = reformat_step("", largest_like(desc), from, to).problem;
    const Candidate* offer = reformats_.find(problem);
    if (offer == nullptr || problem.inputs[0].dims.volume() == 0) return rate->second;
    EvaluatedCandidate evaluated;
    evaluated.candidate = *offer;
    evaluated.rivals = 1;
    // A number that no step has: there is nothing to compare results with. A failure leaves the estimate.
    const Status status = options_.cost(problem, StepIndex(program_.steps.size() + rates_.size()), &evaluated);
    if (status.ok() && evaluated.measured && evaluated.refusal.empty() && evaluated.us > 0)
      rate->second = moved_bytes(problem.inputs[0]) /
                     (std::max(evaluated.us - kReformatUs, 0.1 * evaluated.us) * (1 + evaluated.spread));
    return rate->second;
  }

  const TensorDesc& largest_like(const TensorDesc& desc) const {
    const TensorDesc* largest = &desc;
    for (const Step& step : program_.steps)
      for (const TensorDesc& d : step.problem.outputs)
        if (d.dtype == desc.dtype && d.dims.rank() == desc.dims.rank() && d.dims.volume() > largest->dims.volume())
          largest = &d;
    return *largest;
  }

  bool can_reformat(const TensorDesc& desc, Layout from, Layout to) const {
    const auto key = std::make_tuple(desc.dtype, desc.dims.rank(), from, to);
    const auto found = possible_.find(key);
    if (found != possible_.end()) return found->second;
    return possible_[key] = reformats_.find(reformat_step("", desc, from, to).problem) != nullptr;
  }

  // Distinct reformats that the readers of a tensor cause, the network's output and views included.
  double tensor_cost(TensorIndex t, const TensorDesc& desc, const State& state) const {
    const Layout layout = layout_of(t, state);
    const bool output = program_.tensors[t].kind == TensorKind::kOutput;
    const Layout outside = output ? program_.tensors[t].layout : Layout::kLinear;
    double us = 0;
    for (size_t l = 0; l < state.wanted[t].size(); ++l)
      if (state.wanted[t][l] > 0 || ((output || viewed_[t]) && static_cast<Layout>(l) == outside))
        us += direct_[t] && !same_memory(program_, t, desc, layout, static_cast<Layout>(l))
                  ? kImpossible
                  : reformat_us(t, desc, layout, static_cast<Layout>(l));
    return us;
  }

  // Cost of everything that candidate `c` of step `s` touches. Leaves the step at `c`.
  double local_cost(StepIndex s, int c, State* state) const {
    move_to(s, c, state);
    const Step& step = program_.steps[s];
    double us = discounted_[s][static_cast<size_t>(c)];
    for (size_t o = 0; o < step.outputs.size(); ++o)
      if (step.outputs[o].exists()) us += tensor_cost(step.outputs[o], step.problem.outputs[o], *state);
    for (size_t i = 0; i < step.inputs.size(); ++i)
      if (step.inputs[i].exists() && !step.problem.inputs[i].constant)
        us += tensor_cost(step.inputs[i], step.problem.inputs[i], *state);
    return us;
  }

  // Best candidate of a step that prefers `layout` for its first output, by its own cost.
  int greedy_choice(StepIndex s, int layout) const {
    int best = -1;
    double best_us = std::numeric_limits<double>::infinity();
    const std::vector<EvaluatedCandidate>& all = choice_.steps[s].evaluated;
    for (size_t c = 0; c < all.size(); ++c) {
      if (!all[c].refusal.empty()) continue;
      const bool fits = layout < 0 || all[c].candidate.output_layouts.empty() ||
                        all[c].candidate.output_layouts[0] == static_cast<Layout>(layout);
      const double us = discounted_[s][c] + (fits ? 0 : 1e9);
      if (us < best_us) {
        best_us = us;
        best = static_cast<int>(c);
      }
    }
    return best;
  }

  const Program& program_;
  const Choice& choice_;
  const ChooseOptions& options_;
  IndexedVector<TensorIndex, std::pair<StepIndex, size_t>> producer_;
  IndexedVector<TensorIndex, uint8_t> viewed_;
  IndexedVector<TensorIndex, uint8_t> direct_;                // of the border, without reformats
  IndexedVector<StepIndex, std::vector<double>> discounted_;  // by candidate
  mutable ReformatOffers reformats_;
  mutable std::map<std::tuple<DType, int, Layout, Layout>, bool> possible_;
  mutable std::map<std::tuple<DType, int, Layout, Layout>, double> rates_;  // bytes in a microsecond
};

// Times of the reformats that were inserted, for reports. `given`: steps before.
Status cost_reformats(Program* program, const ChooseOptions& options, size_t given, Choice* choice) {
  std::unordered_map<std::string, StepReport> known;
  for (Step& step : program->steps) {
    if (step.problem.family() != Family::kReformat || !step.provenance.empty() || !step.name.starts_with(kReformatName))
      continue;
    const auto [at, fresh] = known.try_emplace(step.problem.key());
    StepReport& report = at->second;
    if (fresh) {
      EvaluatedCandidate evaluated;
      evaluated.candidate = {
          step.tactic, {step.problem.inputs[0].layout}, {step.problem.outputs[0].layout}, step.workspace, kReformatUs};
      evaluated.us = kReformatUs;
      evaluated.rivals = 1;  // it is timed although there is no choice
      if (options.cost)
        WOOTZ_RETURN_IF_ERROR(
            options.cost(step.problem, StepIndex(kTimedReformats + given + known.size()), &evaluated));
      evaluated.refusal.clear();  // it is needed, whatever became of the measurement
      report.evaluated = {evaluated};
      report.chosen = 0;
    }
    report.step = step.name;
    if (report.evaluated[0].measured) step.measured_us = static_cast<float>(report.evaluated[0].us);
    choice->steps.push_back(report);
  }
  return Status();
}

// Starts: the greedy choice of every step, and one for each layout; the cheapest end wins. Totals within kSameTotal are
// the same to us, being sums of measurements: of those, the one with the fewest reformats.
IndexedVector<StepIndex, int> cheapest(Search& search, Choice* choice) {
  struct End {
    State state;
    double us;
    size_t reformats;
  };
  std::vector<End> ends;
  const auto add = [&](const State& state) {
    ends.push_back({state, search.total(state, true), search.count_reformats(state)});
  };
  search.discount_noise();
  for (int layout = -1; layout < static_cast<int>(Layout::kOpaque); ++layout) {
    State state = search.start(layout);
    add(state);
    search.improve(&state);
    add(state);
  }
  choice->reformats_before = ends[0].reformats;
  const auto by_time = [](const End& a, const End& b) { return a.us < b.us; };
  const double most = std::min_element(ends.begin(), ends.end(), by_time)->us * (1 + kSameTotal);
  std::erase_if(ends, [&](const End& e) { return e.us > most; });
  End& best = *std::min_element(ends.begin(), ends.end(), [&](const End& a, const End& b) {
    return a.reformats != b.reformats ? a.reformats < b.reformats : by_time(a, b);
  });
  choice->total_us = search.total(best.state, false);
  return std::move(best.state.chosen);
}

}  // namespace

Status choose_among(Program* program, const std::vector<const Provider*>& providers, const ChooseOptions& options,
                    Choice* choice) {
  if (options.border != nullptr) settle_direct_layouts(program, *options.border, *choice);
  Search search(*program, *choice, options, providers);
  IndexedVector<StepIndex, int> best = cheapest(search, choice);
  WOOTZ_RETURN_IF_ERROR(choose_between(*program, options, *choice, &best));
  Proofs proofs(*program, options);
  while (options.prove) {
    WOOTZ_ASSIGN_OR_RETURN(const bool again, proofs.refuse_failing(best, choice));
    if (!again) break;
    best = cheapest(search, choice);
    WOOTZ_RETURN_IF_ERROR(choose_between(*program, options, *choice, &best));
  }
  for (const StepIndex s : best.indices()) {
    choice->steps[s].chosen = best[s];
    const EvaluatedCandidate& chosen = choice->steps[s].evaluated[static_cast<size_t>(best[s])];
    Step& step = program->steps[s];
    step.tactic = chosen.candidate.tactic;
    step.workspace = chosen.candidate.workspace;
    step.measured_us = chosen.measured ? static_cast<float>(chosen.us) : -1;
    step.problem = with_layouts(step.problem, chosen.candidate);
  }
  const size_t given = program->steps.size();
  WOOTZ_ASSIGN_OR_RETURN(choice->reformats, insert_reformats(program, providers, options.limits));
  if (options.border != nullptr) WOOTZ_RETURN_IF_ERROR(check_direct(*program, *options.border));
  return cost_reformats(program, options, given, choice);
}

Result<Choice> choose_tactics(Program* program, const std::vector<const Provider*>& providers,
                              const ChooseOptions& options) {
  WOOTZ_ASSIGN_OR_RETURN(Choice choice, gather_offers(*program, providers, options));
  WOOTZ_RETURN_IF_ERROR(cost_offers(*program, options, &choice));
  WOOTZ_RETURN_IF_ERROR(choose_among(program, providers, options, &choice));
  return choice;
}

}  // namespace wootz
