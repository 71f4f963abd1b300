// Why so long: one class, whose parts share the state of a step.
#include "tuner/measure/measure.h"

#include <algorithm>

#include "backend/collective.h"
#include "backend/providers.h"
#include "backend/shared_memory.h"
#include "base/thread_pool.h"
#include "base/tolerance.h"
#include "tuner/cache/tactic_text.h"
#include "tuner/measure/agreement.h"
#include "tuner/measure/benchmark_run.h"
#include "tuner/measure/distinct_updates.h"
#include "tuner/measure/lap.h"
#include "tuner/measure/place_check.h"
#include "tuner/measure/problem_class.h"
#include "tuner/measure/random_data.h"
#include "tuner/measure/windows.h"

namespace wootz {

// What the candidates of one step share.
struct Measurer::StepState {
  StepState() = default;
  StepState(const StepState&) = delete;
  StepState& operator=(const StepState&) = delete;
  ~StepState() {
    for (const HostTensor& input : inputs) input.release_pages();
  }

  StepIndex step;
  bool within_budget = true;
  double best_us = 0;
  std::vector<HostTensor> inputs;  // empty until one is measured
  std::optional<CheckCase> small, full;
  bool small_made = false, full_made = false;
  std::vector<CheckWindow> windows;  // of the whole problem
  bool windows_made = false;
  // Results of the whole problem by a kernel that stood the check; and how it was found wrong since, by its rivals.
  struct Proven {
    CheckCase results;
    TimingKey key;
    Timing timing;
    std::string refusal;
  };
  std::optional<Proven> proven;
  // The fastest so far, ready to run in turns with the next.
  struct Anchor {
    std::shared_ptr<const Kernel> kernel;
    PackedConstants constants;
    BenchmarkRun benchmark;
    double us = 0;
    size_t place = 0;  // of its constants' copies
  };
  std::optional<Anchor> anchor;
  size_t free_place() const { return anchor ? 1 - anchor->place : 0; }
  // Of the fastest so far, whose kernel is kept for the build: the others are not likely to be wanted again.
  std::optional<std::pair<Tactic, Problem>> kept;
};

Measurer::Measurer(MeasureOptions options)
    : options_(std::move(options)),
      unkept_(options_.providers, options_.limits),
      rotation_(options_.device, options_.rotation, options_.limits.threads, options_.network_constants) {
  if (options_.timer == nullptr) options_.timer = &host_timer();
}
Measurer::~Measurer() = default;

std::function<Status(const Problem&, StepIndex, EvaluatedCandidate*)> Measurer::as_cost() {
  return [this](const Problem& problem, StepIndex step, EvaluatedCandidate* candidate) {
    return cost(problem, step, candidate);
  };
}

// The step's operands at its optimum, made once: every candidate computes the same.
Status Measurer::begin_step(const Problem& problem, StepIndex step) {
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
    WOOTZ_ASSIGN_OR_RETURN(inputs[i], random_operand(problem, i, desc.dims, options_.seed + i, bound));
  }
  WOOTZ_RETURN_IF_ERROR(make_updates_distinct(problem, &inputs));
  state_->inputs = std::move(inputs);
  return {};
}

Result<std::string> Measurer::compare_on(const CheckCase& expected, const Kernel& kernel, const Problem& problem,
                                         const PackedConstants& constants, double stray, double* error) const {
  WOOTZ_ASSIGN_OR_RETURN(BenchmarkRun benchmark,
                         BenchmarkRun::prepare(kernel, problem, constants, expected.inputs, expected.output_dims(),
                                               *options_.device, options_.stream));
  WOOTZ_RETURN_IF_ERROR(benchmark.run());
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<HostTensor> results, benchmark.results());
  return disagreement(problem, expected, results, error, coarseness(problem), stray);
}

// What is let pass of arithmetic that was asked to be coarser than its types.
double Measurer::coarseness(const Problem& problem) const {
  constexpr double kTf32 = 2e-3;  // operands of 10 bits
  return options_.limits.tf32 && has_trait(problem.family(), kMultiplies) ? kTf32 : 0;
}

const CheckCase* Measurer::whole_case(const Problem& problem, StepIndex step) {
  StepState& s = *state_;
  if (!std::exchange(s.full_made, true)) s.full = full_case(problem, step, s.inputs, options_.reference);
  return s.full ? &*s.full : nullptr;
}

namespace {

// The reference knows no state.
bool keeps_state(const Kernel& kernel) { return dynamic_cast<const StatefulKernel*>(&kernel) != nullptr; }

}  // namespace

// None where kernels are cheap to bind to a small case, which says as much.
const std::vector<CheckWindow>& Measurer::windows(const Problem& problem, StepIndex step, const Kernel& kernel) {
  static const std::vector<CheckWindow> kNone;
  if (!options_.against_rivals || !options_.reference || keeps_state(kernel)) return kNone;
  StepState& s = *state_;
  if (!std::exchange(s.windows_made, true))
    s.windows = windows_of(problem, step, s.inputs, options_.reference, options_.check_work);
  return s.windows;
}

namespace {

constexpr double kMostWork = 500;  // times what one check may cost, where the whole problem is to settle it

// Results are compared on the host, element by element.
bool few_results(const Problem& problem) {
  constexpr int64_t kMost = 4'000'000;
  int64_t count = 0;
  for (const TensorDesc& desc : problem.outputs) count += desc.dims.volume();
  return count <= kMost && !problem.outputs.empty();
}

}  // namespace

void Measurer::decide_on_whole(const Problem& problem, const CheckCase& expected, double stray,
                               const std::vector<HostTensor>& results, Timing* timing) const {
  double error = 0;
  timing->refusal = disagreement(problem, expected, results, &error, coarseness(problem), stray);
  timing->error = error;
}

// Holds a rival's results of the whole problem against those of the kernel that stood the check. Where they differ, the
// reference decides which of the two is wrong: on the small case, then on the whole problem, which may take a while.
Status Measurer::check_results(const Kernel& kernel, const Problem& problem, StepIndex step,
                               const PackedConstants& constants, std::vector<HostTensor> results, Timing* timing) {
  StepState::Proven& proven = *state_->proven;
  double twice = 2 * coarseness(problem);  // each may be off by as much as is let pass
  for (const TensorDesc& desc : problem.outputs)
    if (is_float(desc.dtype)) twice = std::max(twice, 2 * tolerance_for(desc.dtype, longest_sum(problem)));
  double error = 0;
  const std::string apart = disagreement(problem, proven.results, results, &error, twice);
  if (apart.empty()) {
    timing->error = error;
    return {};
  }
  WOOTZ_RETURN_IF_ERROR(check(kernel, problem, step, constants, 0, timing));
  if (!timing->refusal.empty()) return {};
  const CheckCase* const expected =
      multiplications(problem) <= kMostWork * options_.check_work ? whole_case(problem, step) : nullptr;
  if (expected == nullptr) {
    timing->refusal = fmt::format("not as {} computes it, which was there first: {}", proven.key.tactic, apart);
    return {};
  }
  decide_on_whole(problem, *expected, 0, results, timing);
  proven.refusal = disagreement(problem, *expected, proven.results.expected, &error, coarseness(problem));
  if (!proven.refusal.empty() && timing->refusal.empty()) proven.results.expected = std::move(results);
  return {};
}

// Holds a kernel's results of the whole problem against the reference in some places. What is wrong there is asked
// again on the whole, unless that takes too long.
void Measurer::check_windows(const Problem& problem, StepIndex step, const std::vector<CheckWindow>& windows,
                             double stray, const std::vector<HostTensor>& results, Timing* timing) {
  double error = 0;
  timing->refusal = disagreement(problem, windows, results, &error, coarseness(problem), stray);
  timing->error = error;
  if (timing->refusal.empty() || multiplications(problem) > kMostWork * options_.check_work) return;
  const CheckCase* const expected = whole_case(problem, step);
  if (expected != nullptr) decide_on_whole(problem, *expected, stray, results, timing);
}

// Compares on a small case. What it finds wrong there is asked again on the whole problem, since a kernel made for
// certain extents owes nothing to others; a kernel that does not bind to the small one is only asked on the whole where
// that is cheap.
Status Measurer::check(const Kernel& kernel, const Problem& problem, StepIndex step, const PackedConstants& constants,
                       double stray, Timing* timing) {
  if (!options_.reference || keeps_state(kernel)) return {};
  StepState& s = *state_;
  if (!std::exchange(s.small_made, true))
    s.small = small_case(problem, step, s.inputs, options_.reference, options_.check_work, options_.seed + 1000);
  if (!s.small) return {};
  double error = 0;
  Result<std::string> wrong = compare_on(*s.small, kernel, problem, constants, stray, &error);
  const bool reduced = s.small->reduced;
  if (!wrong.ok() && !reduced) return wrong.status();
  if (wrong.ok() && (wrong->empty() || !reduced)) {
    timing->error = error;
    timing->refusal = *wrong;
    return {};
  }
  if (!wrong.ok() && multiplications(problem) > 16 * options_.check_work) return {};
  const CheckCase* expected = whole_case(problem, step);
  if (expected == nullptr) {
    if (wrong.ok()) timing->error = error, timing->refusal = *wrong;
    return {};
  }
  error = 0;
  WOOTZ_ASSIGN_OR_RETURN(timing->refusal, compare_on(*expected, kernel, problem, constants, stray, &error));
  timing->error = error;
  return {};
}

// One problem whatever the layouts: those are part of the tactic.
TimingKey Measurer::key_of(const Problem& problem, const Provider& provider, const Tactic& tactic,
                           bool by_class) const {
  const Problem plain = without_layouts(problem);
  std::string text = problem_key(by_class ? class_of(plain) : plain);
  if (rotation_.concerns(problem)) text = rotated_key(text);
  return {std::move(text),
          tactic.provider,
          provider.version(),
          tactic_text(problem, tactic),
          options_.device->describe().isa,
          options_.limits.threads};
}

std::vector<TimingKey> Measurer::keys_of(const Problem& problem, const Provider& provider, const Tactic& tactic) const {
  std::vector<TimingKey> keys{key_of(problem, provider, tactic)};
  if (options_.by_class) keys.push_back(key_of(problem, provider, tactic, false));
  return keys;
}

bool Measurer::finite_expected() const {
  const StepState& s = *state_;
  if (s.windows.empty()) return s.small && s.small->finite;
  return std::all_of(s.windows.begin(), s.windows.end(), [](const CheckWindow& w) { return w.part.finite; });
}

// At full size only the obvious is looked for: infinities and NaN where the reference has none.
Result<std::string> Measurer::non_finite(const BenchmarkRun& benchmark) const {
  if (!finite_expected()) return std::string();
  WOOTZ_ASSIGN_OR_RETURN(const bool finite, benchmark.finite());
  if (finite) return std::string();
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<HostTensor> results, benchmark.results());  // in rows, to say where
  for (size_t o = 0; o < results.size(); ++o) {
    const int64_t bad = results[o].valid() ? first_non_finite(results[o]) : -1;
    if (bad >= 0)
      return fmt::format("output {} is {} at element {} of {}", o, results[o].get_f64(bad), bad,
                         results[o].dims().to_string());
  }
  return std::string();
}

Result<Measurer::Made> Measurer::make(const Problem& problem, StepIndex step, const Tactic& tactic) {
  {
    const Lap lap(*options_.timer, &stats_.operands_us);
    WOOTZ_RETURN_IF_ERROR(begin_step(problem, step));
  }
  Made made;
  {
    const Lap lap(*options_.timer, &stats_.kernels_us);
    WOOTZ_ASSIGN_OR_RETURN(made.kernel, creator().find_or_create(tactic, problem));
  }
  const Lap lap(*options_.timer, &stats_.operands_us);
  WOOTZ_ASSIGN_OR_RETURN(made.constants, pack_for(*made.kernel, problem, state_->inputs));
  return made;
}

Result<BenchmarkRun> Measurer::at_optimum(const Kernel& kernel, const PackedConstants& constants,
                                          const Problem& problem) {
  std::vector<Dims> outputs;
  for (const TensorDesc& desc : problem.outputs) outputs.push_back(desc.dims);
  return BenchmarkRun::prepare(kernel, problem, constants, state_->inputs, outputs, *options_.device, options_.stream);
}

Result<BenchmarkRun> Measurer::ready(const Made& made, const Problem& problem) {
  const Lap lap(*options_.timer, &stats_.kernels_us);
  return at_optimum(*made.kernel, made.constants, problem);
}

// In turns with the fastest so far, unless that is known from the cache only.
Result<Sample> Measurer::sample(const Problem& problem, BenchmarkRun* benchmark) {
  const Lap lap(*options_.timer, &stats_.sampling_us);
  const std::optional<StepState::Anchor>& anchor = state_->anchor;
  const bool alternating = anchor && anchor->us <= state_->best_us;
  SamplingOptions sampling = options_.sampling;
  std::byte* const memory = rotation_.concerns(problem) ? rotation_.memory(state_->free_place()) : nullptr;
  if (memory != nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(sampling.cycle, benchmark->rotate_constants(memory, rotation_.bytes()));
  }
  const auto run = [&] { return benchmark->run(); };
  const auto rival = [&] { return anchor->benchmark.run(); };
  return alternating ? sample_alternating(*options_.timer, run, rival, anchor->us, options_.sampling)
                     : sample_run(*options_.timer, run, sampling, state_->best_us);
}

// The fastest of a step: its kernel is kept for the build.
void Measurer::keep_fastest(Made made, BenchmarkRun benchmark, const Problem& problem, const Tactic& tactic,
                            double us) {
  if (options_.kernels != nullptr && (state_->best_us == 0 || us < state_->best_us)) {
    if (state_->kept) options_.kernels->drop(state_->kept->first, state_->kept->second);
    options_.kernels->keep(tactic, problem, made.kernel);
    state_->kept.emplace(tactic, problem);
  }
  if (options_.in_turn && (!state_->anchor || us < state_->anchor->us))
    state_->anchor.emplace(StepState::Anchor{std::move(made.kernel), std::move(made.constants), std::move(benchmark),
                                             us, state_->free_place()});
}

// Against the reference, or against what a rival that stood the check makes of the whole problem; `whole` gets what
// this one makes of it, where that may be of use.
Status Measurer::check_candidate(const Made& made, const BenchmarkRun& benchmark, const Problem& problem,
                                 StepIndex step, std::vector<HostTensor>* whole, Timing* timing) {
  const Lap lap(*options_.timer, &stats_.checks_us);
  const bool is_rival = state_->proven.has_value();
  const std::vector<CheckWindow>& windows = this->windows(problem, step, *made.kernel);
  const bool few = few_results(problem);
  if (is_rival || !windows.empty() || (options_.against_rivals && timing->error >= 0 && few)) {
    WOOTZ_RETURN_IF_ERROR(benchmark.run());
    WOOTZ_ASSIGN_OR_RETURN(*whole, benchmark.results());
  }
  if (is_rival) return check_results(*made.kernel, problem, step, made.constants, std::exchange(*whole, {}), timing);
  if (!windows.empty()) check_windows(problem, step, windows, 0, *whole, timing);
  if (!few) whole->clear();
  return Status();
}

Result<Timing> Measurer::measure(const Problem& problem, StepIndex step, const Provider& provider,
                                 const Tactic& tactic) {
  const ParallelScope threads(options_.limits.threads);
  const ActiveScope active;
  WOOTZ_ASSIGN_OR_RETURN(Made made, make(problem, step, tactic));
  Timing timing;
  if (!state_->proven) {
    const Lap lap(*options_.timer, &stats_.checks_us);
    if (windows(problem, step, *made.kernel).empty())
      WOOTZ_RETURN_IF_ERROR(check(*made.kernel, problem, step, made.constants, 0, &timing));
  }
  if (!timing.refusal.empty()) return timing;

  WOOTZ_ASSIGN_OR_RETURN(BenchmarkRun benchmark, ready(made, problem));
  if (options_.wait_each) WOOTZ_RETURN_IF_ERROR(run_and_wait(benchmark, tactic));
  std::vector<HostTensor> whole;  // of a kernel that may become the one that rivals are held against
  WOOTZ_RETURN_IF_ERROR(check_candidate(made, benchmark, problem, step, &whole, &timing));
  if (!timing.refusal.empty()) return timing;
  const bool shared = benchmark.share_in_place(*made.kernel);
  WOOTZ_ASSIGN_OR_RETURN(const Sample sampled, sample(problem, &benchmark));
  timing.median_us = sampled.median_us;
  timing.spread = sampled.spread;
  timing.runs = sampled.runs;
  stats_.timed_us += sampled.spent_us;
  ++stats_.timed;
  stats_.unchecked += timing.error < 0;

  if (!shared) {
    const Lap lap(*options_.timer, &stats_.checks_us);
    WOOTZ_ASSIGN_OR_RETURN(timing.refusal, non_finite(benchmark));
  }
  if (!timing.refusal.empty()) return timing;
  if (!whole.empty())
    state_->proven = StepState::Proven{{{}, std::move(whole)}, key_of(problem, provider, tactic), timing, {}};
  keep_fastest(std::move(made), std::move(benchmark), problem, tactic, timing.median_us);
  return timing;
}

void Measurer::apply(const Timing& timing, EvaluatedCandidate* candidate) {
  candidate->error = timing.error;
  candidate->refusal = timing.refusal;
  if (!timing.refusal.empty()) return;
  candidate->us = timing.median_us;
  candidate->spread = timing.spread;
  candidate->measured = true;
  if (state_->best_us == 0 || timing.median_us < state_->best_us) state_->best_us = timing.median_us;
}

Status Measurer::check_shared(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate) {
  WOOTZ_RETURN_IF_ERROR(begin_step(problem, step));
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<const Kernel> kernel,
                         creator().find_or_create(candidate->candidate.tactic, problem));
  WOOTZ_ASSIGN_OR_RETURN(const PackedConstants constants, pack_for(*kernel, problem, state_->inputs));
  std::vector<Dims> inputs, outputs;
  for (const HostTensor& t : state_->inputs) inputs.push_back(t.valid() ? t.dims() : Dims{});
  for (const TensorDesc& desc : problem.outputs) outputs.push_back(desc.dims);
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<Call> call,
                         kernel->bind({inputs, outputs, constants.data, constants.bytes}));
  const auto* const user = dynamic_cast<const SharedMemoryUser*>(call.get());
  if (user == nullptr) return {};
  const std::optional<size_t> bytes = user->shared_memory();
  if (bytes && *bytes <= options_.shared_memory) return {};
  candidate->over_limit = true;
  candidate->refusal = fmt::format("needs {} of shared memory, the limit is {} bytes",
                                   bytes ? fmt::format("{} bytes", *bytes) : "an amount that its library does not tell",
                                   options_.shared_memory);
  return {};
}

Status Measurer::check_places(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate) {
  WOOTZ_RETURN_IF_ERROR(begin_step(problem, step));
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<const Kernel> kernel,
                         creator().find_or_create(candidate->candidate.tactic, problem));
  WOOTZ_ASSIGN_OR_RETURN(const PackedConstants constants, pack_for(*kernel, problem, state_->inputs));
  WOOTZ_ASSIGN_OR_RETURN(candidate->refusal, place_dependence(*kernel, problem, constants, options_.seed,
                                                              *options_.device, options_.stream));
  return {};
}

// Whatever its time is known to be: the limits are this build's.
Status Measurer::check_limits(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate) {
  const Tactic& tactic = candidate->candidate.tactic;
  if (tactic.provider == "host" || tactic.provider == "reference" || spans_devices(problem)) return {};
  const bool shared = options_.shared_memory != SIZE_MAX;
  if (!shared && !options_.independent_places) return {};
  const ParallelScope threads(options_.limits.threads);
  start_step(step);
  Status status = shared ? check_shared(problem, step, candidate) : Status();
  if (status.ok() && candidate->refusal.empty() && options_.independent_places)
    status = check_places(problem, step, candidate);
  if (!status.ok() && status.code() != Code::kCancelled)
    candidate->refusal = fmt::format("failed: {}", status.to_string());
  return status.code() == Code::kCancelled ? status : Status();
}

void Measurer::start_step(StepIndex step) {
  if (state_ != nullptr && state_->step == step) return;
  state_ = std::make_unique<StepState>();
  state_->step = step;
  // Decided once a step: measured and estimated times are not to be compared.
  if (!start_us_) start_us_ = options_.timer->now_us();
  state_->within_budget = options_.budget_us <= 0 || options_.timer->now_us() - *start_us_ < options_.budget_us;
}

// A device tells of a fault when it is next asked, of whichever kernel it was: here it is this one's.
Status Measurer::run_and_wait(const BenchmarkRun& benchmark, const Tactic& tactic) {
  Status status = benchmark.run();
  if (status.ok() && options_.stream != nullptr) status = options_.stream->synchronize();
  if (!status.ok()) fault_ = status.with_prefix(fmt::format("tactic {} fails when it is run", tactic.to_string()));
  return status;
}

Status Measurer::run_once(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate) {
  const Lap lap(*options_.timer, &stats_.proof_us);
  WOOTZ_RETURN_IF_ERROR(begin_step(problem, step));
  const Tactic& tactic = candidate->candidate.tactic;
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<const Kernel> kernel, creator().find_or_create(tactic, problem));
  WOOTZ_ASSIGN_OR_RETURN(const PackedConstants constants, pack_for(*kernel, problem, state_->inputs));
  constexpr double kStray = 1e-3;  // there may be no other candidate: not to be refused for what chance rounds away
  const double stray = may_jump(problem) ? kStray : 0;
  static const std::vector<CheckWindow> kNone;
  const std::vector<CheckWindow>& windows = candidate->known ? kNone : this->windows(problem, step, *kernel);
  if (!candidate->known && windows.empty()) {
    Timing timing;
    WOOTZ_RETURN_IF_ERROR(check(*kernel, problem, step, constants, stray, &timing));
    candidate->error = timing.error;
    candidate->refusal = timing.refusal;
    if (!state_->small) return {};
    ++stats_.proved;
    if (!timing.refusal.empty() || (!state_->small->reduced && timing.error >= 0)) return {};
  }
  WOOTZ_ASSIGN_OR_RETURN(const BenchmarkRun benchmark, at_optimum(*kernel, constants, problem));
  WOOTZ_RETURN_IF_ERROR(benchmark.run());
  if (options_.stream != nullptr) WOOTZ_RETURN_IF_ERROR(options_.stream->synchronize());
  if (!windows.empty()) {
    Timing timing;
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<HostTensor> whole, benchmark.results());
    check_windows(problem, step, windows, stray, whole, &timing);
    candidate->error = timing.error;
    candidate->refusal = timing.refusal;
    ++stats_.proved;
  }
  if (!candidate->refusal.empty()) return {};
  WOOTZ_ASSIGN_OR_RETURN(candidate->refusal, non_finite(benchmark));
  if (options_.kernels != nullptr && candidate->refusal.empty()) options_.kernels->keep(tactic, problem, kernel);
  return {};
}

Status Measurer::prove(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate) {
  // Nothing to compare: these are the reference, which may take any time for operands that make no sense (a loop).
  if (candidate->candidate.tactic.provider == "host" || candidate->candidate.tactic.provider == "reference") return {};
  if (spans_devices(problem)) return {};  // the other ranks are not here
  const ParallelScope threads(options_.limits.threads);
  const ActiveScope active;
  start_step(step);
  WOOTZ_RETURN_IF_ERROR(check_limits(problem, step, candidate));
  if (!candidate->refusal.empty()) return {};
  const Status status = run_once(problem, step, candidate);
  if (status.code() == Code::kCancelled) return status;
  if (!status.ok() && (candidate->known || status.code() != Code::kResourceExhausted))
    candidate->refusal = fmt::format("failed: {}", status.to_string());
  stats_.refused += !candidate->refusal.empty();
  return {};
}

namespace {

// A plugin that does not say what tells it from others.
bool timed_anew(const Problem& problem) {
  if (!is_plugin(problem)) return false;
  const Result<PluginParams> plugin = read_plugin(problem);
  return !plugin.ok() || plugin->timing.empty();
}

}  // namespace

bool Measurer::knows(const Problem& problem, const EvaluatedCandidate& candidate) const {
  const Tactic& tactic = candidate.candidate.tactic;
  const Provider* const provider = provider_named(tactic.provider, options_.providers);
  if (provider == nullptr || options_.cache == nullptr || timed_anew(problem)) return false;
  const std::vector<TimingKey> keys = keys_of(problem, *provider, tactic);
  return std::any_of(keys.begin(), keys.end(), [&](const TimingKey& key) {
    return options_.cache->query(key).has_value() || (options_.obey_pins && options_.cache->pinned(key).has_value());
  });
}

// True: the cache decides, by a time or by a pin.
bool Measurer::recall(const TimingCache& cache, const std::vector<TimingKey>& keys, EvaluatedCandidate* candidate) {
  for (const TimingKey& key : keys) {
    if (const auto pin = options_.obey_pins ? cache.pinned(key) : std::nullopt;
        pin && (pin->provider != key.provider || pin->tactic != key.tactic)) {
      candidate->refusal = fmt::format("the timing cache pins {}:{}", pin->provider, pin->tactic);
      return true;
    }
    if (const auto known = cache.query(key)) {
      ++stats_.from_cache;
      apply(*known, candidate);
      candidate->known = true;
      return true;
    }
  }
  return false;
}

Status Measurer::cost(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate) {
  const Tactic& tactic = candidate->candidate.tactic;
  candidate->us = candidate->candidate.estimate_us;
  WOOTZ_RETURN_IF_ERROR(check_limits(problem, step, candidate));
  if (candidate->rivals == 0 || !candidate->refusal.empty()) return {};
  const Provider* const provider = provider_named(tactic.provider, options_.providers);
  if (provider == nullptr) return internal_error("no provider '{}' to measure", tactic.provider);
  start_step(step);
  TimingCache* const cache = timed_anew(problem) ? nullptr : options_.cache;
  if (cache != nullptr) {
    if (recall(*cache, keys_of(problem, *provider, tactic), candidate)) return {};
    if (options_.error_on_miss)
      return make_error(Code::kInvalidState, "the timing cache does not know {} for {}", tactic.to_string(),
                        key_of(problem, *provider, tactic).problem.substr(0, 300));
  }
  if (!state_->within_budget) {
    ++stats_.over_budget;
    return {};
  }
  if (rotation_.concerns(problem)) (void)rotation_.memory();  // the key says how it was timed
  const TimingKey key = key_of(problem, *provider, tactic);
  Result<Timing> measured = measure(problem, step, *provider, tactic);
  if (!measured.ok()) {
    if (measured.status().code() == Code::kCancelled) return measured.status();
    WOOTZ_RETURN_IF_ERROR(fault_);
    // Not remembered: it may have been this machine's memory.
    ++stats_.refused;
    candidate->refusal = fmt::format("failed: {}", measured.status().to_string());
    return {};
  }
  stats_.refused += !measured->refusal.empty();
  if (cache != nullptr) WOOTZ_RETURN_IF_ERROR(cache->update(key, *measured));
  apply(*measured, candidate);
  if (!state_->proven || state_->proven->refusal.empty()) return {};
  // One that had stood the check is wrong after all.
  StepState::Proven& wrong = *state_->proven;
  candidate->disproves = wrong.key.tactic;
  candidate->disproof = std::exchange(wrong.refusal, {});
  wrong.timing.refusal = candidate->disproof;
  ++stats_.refused;
  if (cache != nullptr) WOOTZ_RETURN_IF_ERROR(cache->update(wrong.key, wrong.timing));
  wrong.key = key;
  wrong.timing = *measured;
  if (!measured->refusal.empty()) state_->proven.reset();  // so is this one: the next is held against the reference
  return {};
}

}  // namespace wootz
