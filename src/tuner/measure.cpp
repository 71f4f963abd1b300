#include "tuner/measure.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "tuner/random_data.h"
#include "tuner/tactic_text.h"
#include "tuner/trial.h"

namespace wootz {

// What the candidates of one step share.
struct Measurer::StepState {
  size_t step = 0;
  bool within_budget = true;
  double best_us = 0;
  std::vector<HostTensor> inputs;  // empty until one is measured
  std::optional<CheckCase> small, full;
  bool small_made = false, full_made = false;
  // The fastest so far, ready to run beside the next.
  struct Anchor {
    std::unique_ptr<Kernel> kernel;
    PackedConstants constants;
    Trial trial;
    double us = 0;
  };
  std::optional<Anchor> anchor;
};

Measurer::Measurer(MeasureOptions options) : options_(std::move(options)) {
  if (options_.timer == nullptr) options_.timer = &host_timer();
}
Measurer::~Measurer() = default;

std::function<Status(const Problem&, size_t, Considered*)> Measurer::as_cost() {
  return [this](const Problem& problem, size_t step, Considered* candidate) { return cost(problem, step, candidate); };
}

// The step's operands at its optimum, made once: every candidate computes the same.
Status Measurer::begin_step(const Problem& problem, size_t step) {
  if (!state_->inputs.empty()) return {};
  int64_t bound = 8;  // indices into input 0 stay inside it along every axis
  if (!problem.inputs.empty())
    for (const int64_t d : problem.inputs[0].dims) bound = std::min(bound, d);
  std::vector<HostTensor> inputs(problem.inputs.size());
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const TensorDesc& desc = problem.inputs[i];
    if (desc.dtype == DType::kInvalid) continue;
    if (desc.constant && options_.constants) {
      WOOTZ_ASSIGN_OR_RETURN(inputs[i], options_.constants(step, i));
      if (!(inputs[i].dims() == desc.dims) || inputs[i].dtype() != desc.dtype)
        return internal_error("constant input {} is {} {}, described as {} {}", i, dtype_name(inputs[i].dtype()),
                              inputs[i].dims().to_string(), dtype_name(desc.dtype), desc.dims.to_string());
      continue;
    }
    WOOTZ_ASSIGN_OR_RETURN(inputs[i], random_tensor(desc.dtype, desc.dims, options_.seed + i, bound));
  }
  state_->inputs = std::move(inputs);
  return {};
}

Result<std::string> Measurer::compare_on(const CheckCase& expected, const Kernel& kernel, const Problem& problem,
                                         const PackedConstants& constants, double* error) const {
  WOOTZ_ASSIGN_OR_RETURN(Trial trial, Trial::prepare(kernel, problem, constants, expected.inputs,
                                                     expected.output_dims(), *options_.device, options_.stream));
  WOOTZ_RETURN_IF_ERROR(trial.run());
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<HostTensor> results, trial.results());
  constexpr double kTf32 = 2e-3;  // operands of 10 bits
  const bool product =
      problem.family == Family::kConv || problem.family == Family::kGemm || problem.family == Family::kAttention;
  return disagreement(problem, expected, results, error, options_.limits.tf32 && product ? kTf32 : 0);
}

// Compares on a small case. What it finds wrong there is asked again on the whole problem, since a kernel made for
// certain extents owes nothing to others; a kernel that does not bind to the small one is only asked on the whole where
// that is cheap.
Status Measurer::check(const Kernel& kernel, const Problem& problem, size_t step, const PackedConstants& constants,
                       Timing* timing) {
  if (!options_.reference) return {};
  StepState& s = *state_;
  if (!std::exchange(s.small_made, true))
    s.small = small_case(problem, step, s.inputs, options_.reference, options_.check_work, options_.seed + 1000);
  const auto whole = [&]() -> const CheckCase* {
    if (!std::exchange(s.full_made, true)) s.full = full_case(problem, step, s.inputs, options_.reference);
    return s.full ? &*s.full : nullptr;
  };
  if (!s.small) return {};
  double error = 0;
  Result<std::string> wrong = compare_on(*s.small, kernel, problem, constants, &error);
  const bool reduced = s.small->reduced;
  if (!wrong.ok() && !reduced) return wrong.status();
  if (wrong.ok() && (wrong->empty() || !reduced)) {
    timing->error = error;
    timing->refusal = *wrong;
    return {};
  }
  const double full_work =
      static_cast<double>(problem.outputs[0].dims.volume()) * static_cast<double>(longest_sum(problem));
  if (!wrong.ok() && full_work > 16 * options_.check_work) return {};
  const CheckCase* expected = whole();
  if (expected == nullptr) {
    if (wrong.ok()) timing->error = error, timing->refusal = *wrong;
    return {};
  }
  error = 0;
  WOOTZ_ASSIGN_OR_RETURN(timing->refusal, compare_on(*expected, kernel, problem, constants, &error));
  timing->error = error;
  return {};
}

// One problem whatever the layouts: those are part of the tactic.
TimingKey Measurer::key_of(const Problem& problem, const Provider& provider, const Tactic& tactic) const {
  return {
      problem_key(without_layouts(problem)), tactic.provider,        provider.version(), tactic_text(problem, tactic),
      options_.device->describe().isa,       options_.limits.threads};
}

Result<Timing> Measurer::measure(const Problem& problem, size_t step, const Provider& provider, const Tactic& tactic) {
  const ParallelScope threads(options_.limits.threads);
  const ActiveScope active;
  WOOTZ_RETURN_IF_ERROR(begin_step(problem, step));
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, provider.create(tactic, problem, options_.limits));
  WOOTZ_ASSIGN_OR_RETURN(PackedConstants constants, pack_for(*kernel, problem, state_->inputs));
  Timing timing;
  WOOTZ_RETURN_IF_ERROR(check(*kernel, problem, step, constants, &timing));
  if (!timing.refusal.empty()) return timing;

  std::vector<Dims> outputs;
  for (const TensorDesc& desc : problem.outputs) outputs.push_back(desc.dims);
  WOOTZ_ASSIGN_OR_RETURN(Trial trial, Trial::prepare(*kernel, problem, constants, state_->inputs, outputs,
                                                     *options_.device, options_.stream));
  const bool shared = trial.share_in_place(*kernel);
  const auto run = [&] { return trial.run(); };
  // Beside the fastest so far, unless that is known from the cache only.
  const std::optional<StepState::Anchor>& anchor = state_->anchor;
  const bool beside = anchor && anchor->us <= state_->best_us;
  const auto rival = [&] { return anchor->trial.run(); };
  WOOTZ_ASSIGN_OR_RETURN(const Sample sample,
                         beside ? sample_beside(*options_.timer, run, rival, anchor->us, options_.sampling)
                                : sample_run(*options_.timer, run, options_.sampling, state_->best_us));
  timing.median_us = sample.median_us;
  timing.spread = sample.spread;
  timing.runs = sample.runs;
  stats_.timed_us += sample.spent_us;
  ++stats_.timed;
  stats_.unchecked += timing.error < 0;

  // At full size only the obvious is looked for.
  if (state_->small && state_->small->finite && !shared) {
    WOOTZ_ASSIGN_OR_RETURN(const bool finite, trial.finite());
    std::vector<HostTensor> results;  // moved to rows only where there is something to find
    if (!finite) {
      WOOTZ_ASSIGN_OR_RETURN(results, trial.results());
    }
    for (size_t o = 0; o < results.size(); ++o) {
      const int64_t bad = results[o].valid() ? first_non_finite(results[o]) : -1;
      if (bad >= 0)
        timing.refusal = fmt::format("output {} is {} at element {} of {}", o, results[o].get_f64(bad), bad,
                                     results[o].dims().to_string());
    }
  }
  if (options_.in_turn && timing.refusal.empty() && (!anchor || timing.median_us < anchor->us))
    state_->anchor.emplace(StepState::Anchor{std::move(kernel), std::move(constants), std::move(trial), timing.median_us});
  return timing;
}

void Measurer::apply(const Timing& timing, Considered* candidate) {
  candidate->error = timing.error;
  candidate->refusal = timing.refusal;
  if (!timing.refusal.empty()) return;
  candidate->us = timing.median_us;
  candidate->spread = timing.spread;
  candidate->measured = true;
  if (state_->best_us == 0 || timing.median_us < state_->best_us) state_->best_us = timing.median_us;
}

Status Measurer::prove(const Problem& problem, size_t step, const Candidate& candidate) {
  const auto provider = std::find_if(options_.providers.begin(), options_.providers.end(),
                                     [&](const Provider* p) { return candidate.tactic.provider == p->name(); });
  if (provider == options_.providers.end())
    return internal_error("no provider '{}' to run", candidate.tactic.provider);
  const ParallelScope threads(options_.limits.threads);
  const ActiveScope active;
  state_ = std::make_unique<StepState>();
  state_->step = step;
  WOOTZ_RETURN_IF_ERROR(begin_step(problem, step));
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel,
                         (*provider)->create(candidate.tactic, problem, options_.limits));
  WOOTZ_ASSIGN_OR_RETURN(const PackedConstants constants, pack_for(*kernel, problem, state_->inputs));
  std::vector<Dims> outputs;
  for (const TensorDesc& desc : problem.outputs) outputs.push_back(desc.dims);
  WOOTZ_ASSIGN_OR_RETURN(Trial trial, Trial::prepare(*kernel, problem, constants, state_->inputs, outputs,
                                                     *options_.device, options_.stream));
  WOOTZ_RETURN_IF_ERROR(trial.run());
  return options_.stream == nullptr ? Status() : options_.stream->synchronize();
}

Status Measurer::cost(const Problem& problem, size_t step, Considered* candidate) {
  const Tactic& tactic = candidate->candidate.tactic;
  candidate->us = candidate->candidate.estimate_us;
  if (candidate->rivals == 0) return {};
  const auto provider = std::find_if(options_.providers.begin(), options_.providers.end(),
                                     [&](const Provider* p) { return tactic.provider == p->name(); });
  if (provider == options_.providers.end()) return internal_error("no provider '{}' to measure", tactic.provider);
  if (state_ == nullptr || state_->step != step) {
    state_ = std::make_unique<StepState>();
    state_->step = step;
    // Decided once a step: measured and estimated times are not to be compared.
    if (!start_us_) start_us_ = options_.timer->now_us();
    state_->within_budget = options_.budget_us <= 0 || options_.timer->now_us() - *start_us_ < options_.budget_us;
  }
  const TimingKey key = key_of(problem, **provider, tactic);
  if (options_.cache != nullptr) {
    if (const auto pin = options_.cache->pinned(key);
        pin && (pin->provider != key.provider || pin->tactic != key.tactic)) {
      candidate->refusal = fmt::format("the timing cache pins {}:{}", pin->provider, pin->tactic);
      return {};
    }
    if (const auto known = options_.cache->query(key)) {
      ++stats_.from_cache;
      apply(*known, candidate);
      candidate->known = true;
      return {};
    }
    if (options_.error_on_miss)
      return make_error(Code::kInvalidState, "the timing cache does not know {} for {}", tactic.to_string(),
                        key.problem.substr(0, 300));
  }
  if (!state_->within_budget) {
    ++stats_.over_budget;
    return {};
  }
  Result<Timing> measured = measure(problem, step, **provider, tactic);
  if (!measured.ok()) {
    if (measured.status().code() == Code::kCancelled) return measured.status();
    // Not remembered: it may have been this machine's memory.
    ++stats_.refused;
    candidate->refusal = fmt::format("failed: {}", measured.status().to_string());
    return {};
  }
  stats_.refused += !measured->refusal.empty();
  if (options_.cache != nullptr) WOOTZ_RETURN_IF_ERROR(options_.cache->update(key, *measured));
  apply(*measured, candidate);
  return {};
}

}  // namespace wootz
