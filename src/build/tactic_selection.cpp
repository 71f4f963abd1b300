#include "build/tactic_selection.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "build/context.h"
#include "build/measuring.h"
#include "tuner/choose.h"
#include "tuner/measure/prepare.h"
#include "tuner/offers.h"

namespace wootz {
namespace {

constexpr double kDeviceReformatGbPerS = 2000;  // of a device with memory of its own, where it is not measured
// The progress of choosing is reported in so many times the number of steps: asking, getting ready, measuring.
constexpr size_t kMoments = 3, kAsked = 0, kReady = 1, kMeasured = 2;

// Whether the device's cache keeps a network's constants from one inference to the next, beside its activations.
bool stay_cached(const Program& program, const Device& device, int threads) {
  return constant_bytes(program) <= cache_of(device, threads) / 2;
}

}  // namespace

TacticSelection::TacticSelection(BuildContext& context, const Lowered& lowered, Program* program, Progress* progress,
                                 bool body)
    : context_(context),
      lowered_(lowered),
      program_(program),
      body_(body),
      steps_(program->steps.size()),
      timed_(context.settings.measure && context.settings.level > 0),
      // A device's library may refuse, fail or be wrong; the host's kernels are the same everywhere and tested as they
      // are.
      proved_(context.target.device != nullptr && !context.target.device->host_memory()),
      phase_(progress, "Choose tactics", "Build", static_cast<int>(kMoments * std::max<size_t>(1, steps_))) {
  for (const Step& step : program->steps) names_.push_back(step.name);
}

Status TacticSelection::make_measurer() {
  const BuildSettings& settings = context_.settings;
  const bool unmeasured = !timed_ && !proved_ && !settings.independent_places;
  if (context_.target.device == nullptr || unmeasured) return Status();
  MeasureOptions measure;
  measure.providers = context_.providers();
  if (proved_) {
    WOOTZ_ASSIGN_OR_RETURN(timer_, DeviceTimer::create(*context_.target.device, settings.timing_stream));
    measure.timer = timer_.get();
    measure.stream = &timer_->stream();
    measure.against_rivals = true;
    measure.kernels =
        &*context_.kernels;  // compiled for it: dear to create again, unlike the host's, which hold memory
  }
  measure.in_turn = timer_ == nullptr;
  measure.device = context_.target.device;
  measure.limits = context_.limits;
  if (!stay_cached(*program_, *measure.device, measure.limits.threads)) measure.rotation = settings.operand_memory;
  measure.network_constants = constant_bytes(*program_);
  measure.by_class = true;
  measure.cache = context_.services.cache;
  measure.obey_pins = settings.obey_pins;
  measure.wait_each = settings.wait_each;
  measure.independent_places = settings.independent_places;
  measure.shared_memory = settings.shared_memory;
  measure.error_on_miss = settings.error_on_cache_miss;
  measure.constants = constants_of(*program_);
  measure.reference = reference_of(lowered_);
  measure.sampling = sampling_for(settings.level, settings.timing_iterations);
  measurer_.emplace(std::move(measure));
  return Status();
}

// The rule that forces another tactic; null: none.
const ForcedTactic* TacticSelection::forced_instead(StepIndex step, const Tactic& tactic) const {
  const std::string text = tactic.to_string();
  for (const ForcedTactic& rule : context_.settings.forced)
    if (names_[step].find(rule.step) != std::string::npos && text.find(rule.tactic) == std::string::npos) return &rule;
  return nullptr;
}

// What the settings say of a candidate before it is measured: another one is forced, or enough were measured.
void TacticSelection::apply_settings(StepIndex step, EvaluatedCandidate* candidate) {
  const BuildSettings& settings = context_.settings;
  if (const ForcedTactic* const rule = forced_instead(step, candidate->candidate.tactic)) {
    candidate->refusal = fmt::format("tactic '{}' is forced for this step", rule->tactic);
    return;
  }
  if (step != counted_step_) counted_ = 0;
  counted_step_ = step;
  if (settings.max_tactics > 0 && ++counted_ > settings.max_tactics)
    candidate->refusal = fmt::format("{} tactics were measured, as many as the options allow", settings.max_tactics);
}

bool TacticSelection::tell(size_t moment, size_t done, size_t total) {
  const size_t of_moment = done * steps_ / std::max<size_t>(1, total);
  return phase_.step(static_cast<int>(moment * steps_ + std::min(of_moment, steps_ == 0 ? 0 : steps_ - 1)));
}

// Where kernels are compiled for the device, what will not be found in the timing cache is compiled on all processors
// before the first is measured: a compiler beside that would disturb it.
Status TacticSelection::prepare(const std::vector<Wanted>& wanted) {
  if (!timed_ && !proving_) return Status();  // estimates decide, and only what they choose is run
  std::vector<Wanted> needed;
  StepIndex last;
  int of_step = 0;
  for (const Wanted& w : wanted) {
    of_step = w.step == last ? of_step : 0;
    last = w.step;
    if (forced_instead(w.step, w.candidate->candidate.tactic) != nullptr) continue;
    if (context_.settings.max_tactics > 0 && ++of_step > context_.settings.max_tactics) continue;
    const bool recalled = !w.candidate->known && timed_ &&
                          measurer_->knows(with_layouts(*w.problem, w.candidate->candidate), *w.candidate);
    if (!recalled) needed.push_back(w);
  }
  const auto go_on = [&](size_t done) { return proving_ || tell(kReady, done, needed.size()); };
  if (prepare_kernels(needed, context_.providers(), context_.limits, options_.threads, go_on)) return Status();
  return unless_cancelled(make_error(Code::kCancelled, "cancelled while compiling kernels"));
}

Status TacticSelection::at_layer(StepIndex step, const Status& status) const {
  return status.ok() || status.code() == Code::kCancelled || !names_.has(step)
             ? status
             : status.with_prefix(fmt::format("layer '{}'", names_[step]));
}

Status TacticSelection::cost(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate) {
  candidate->us = candidate->candidate.estimate_us;
  if (names_.has(step)) apply_settings(step, candidate);
  if (!candidate->refusal.empty()) return Status();
  if (measurer_ && timed_) {
    if (proved_ && !context_.asked_alone && candidate->rivals > 0 && !measurer_->knows(problem, *candidate))
      WOOTZ_RETURN_IF_ERROR(unless_cancelled(measure_alone(context_, [this] { return tell(kReady, 1, 1); })));
    return at_layer(step, measurer_->cost(problem, step, candidate));
  }
  if (measurer_) return measurer_->check_limits(problem, step, candidate);
  if (!cache_only_) return Status();
  WOOTZ_RETURN_IF_ERROR(cache_only_->cost(problem, candidate));
  const bool missed = !candidate->measured && candidate->refusal.empty() && candidate->rivals > 0 && names_.has(step);
  if (missed && context_.settings.error_on_cache_miss)
    return make_error(Code::kInvalidState, "the timing cache does not know {}",
                      candidate->candidate.tactic.to_string());
  return Status();
}

LayerOffer TacticSelection::offer_of(StepIndex step, const std::vector<const Candidate*>& candidates) const {
  LayerOffer offer{names_[step], &lowered_.program.steps[step].problem, {}, candidates};
  std::vector<int64_t> symbols(program_->symbols.size(), -1);
  if (!program_->profiles.empty())
    for (size_t s = 0; s < symbols.size(); ++s) symbols[s] = program_->profiles[0].symbols[SymbolIndex(s)].min;
  ShapeValues shapes;
  const bool known = evaluate_shapes(*program_, symbols, &shapes).ok();
  const auto add = [&](const std::vector<TensorIndex>& tensors, const std::vector<TensorDesc>& descs) {
    for (size_t i = 0; i < descs.size(); ++i) {
      const bool has = known && i < tensors.size() && tensors[i].exists();
      const std::optional<Dims> dims = has ? tensor_dims(program_->tensors[tensors[i]], shapes) : std::nullopt;
      offer.least.push_back(dims.value_or(descs[i].dims));
    }
  };
  const Step& lowered = lowered_.program.steps[step];
  add(lowered.inputs, offer.problem->inputs);
  add(lowered.outputs, offer.problem->outputs);
  return offer;
}

Status TacticSelection::ask_selector(StepIndex step, StepReport* report) {
  std::vector<const Candidate*> candidates;
  std::vector<EvaluatedCandidate*> evaluated;
  for (EvaluatedCandidate& e : report->evaluated) {
    if (!e.refusal.empty()) continue;
    candidates.push_back(&e.candidate);
    evaluated.push_back(&e);
  }
  if (candidates.empty()) return Status();
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<size_t> selected,
                         context_.services.selector->select(offer_of(step, candidates)));
  for (size_t c = 0; c < evaluated.size(); ++c)
    if (std::find(selected.begin(), selected.end(), c) == selected.end())
      evaluated[c]->refusal = "the application's selector did not pick it";
  return Status();
}

void TacticSelection::tell_selector() const {
  for (const StepIndex s : names_.indices()) {
    const StepReport& report = choice_.steps[s];
    if (report.chosen < 0) continue;
    const EvaluatedCandidate& chosen = report.evaluated[static_cast<size_t>(report.chosen)];
    context_.services.selector->taken(offer_of(s, {&chosen.candidate}), chosen.measured ? chosen.us : 0);
  }
}

void TacticSelection::log_over_limits() {
  for (const StepIndex s : names_.indices()) {
    if (!choice_.steps.has(s)) break;
    for (const EvaluatedCandidate& e : choice_.steps[s].evaluated) {
      if (!e.over_limit) continue;
      std::string line =
          fmt::format("layer '{}': tactic {} is skipped: {}", names_[s], e.candidate.tactic.to_string(), e.refusal);
      if (over_limits_.insert(line).second) context_.log.info(line);
    }
  }
}

Status TacticSelection::offer() {
  WOOTZ_RETURN_IF_ERROR(make_measurer());
  const TimingCache* cache = context_.services.cache;
  if (timed_ && context_.target.device == nullptr && cache != nullptr && cache->size() > 0)
    cache_only_.emplace(*cache, context_.providers(), context_.limits, context_.target.description.isa,
                        context_.settings.obey_pins);
  options_.limits = context_.limits;
  if (!body_) options_.border = &context_.settings.border;
  options_.operand_memory = context_.settings.operand_memory;
  options_.portable = context_.settings.portable;
  if (!context_.settings.jit_convolutions)
    options_.last_resort = [](const Problem& problem, const Candidate& candidate) {
      return problem.is(Family::kConv) && candidate.tactic.provider == "generated";
    };
  if (context_.services.selector != nullptr)
    options_.select = [this](StepIndex step, StepReport* report) { return ask_selector(step, report); };
  if (context_.target.backend->can.own_memory) options_.reformat_gb_per_s = kDeviceReformatGbPerS;
  if (cache_only_)
    options_.more = [this](const Problem& problem, std::vector<Candidate>* offers) {
      cache_only_->add_offers(problem, offers);
    };
  options_.cost = [this](const Problem& problem, StepIndex step, EvaluatedCandidate* candidate) {
    return cost(problem, step, candidate);
  };
  options_.warn = [this](const std::string& line) { context_.log.warning(line); };
  options_.by_class = proved_ && timed_;
  if (measurer_ && proved_)
    options_.prove = [this](const Problem& problem, StepIndex step, EvaluatedCandidate* candidate) {
      return measurer_->prove(problem, step, candidate);
    };
  constexpr int kLevel = 3;  // the least that times tactics among others
  if (measurer_ && proved_ && timed_ && !body_ && context_.settings.level >= kLevel)
    options_.between = [this](const PlacedTactic* before, const std::vector<PlacedTactic>& rivals,
                              const PlacedTactic* after) { return measurer_->between(before, rivals, after); };
  options_.note = [this](const std::string& line) { context_.log.verbose(line); };
  options_.progress = [this](size_t done, size_t total, Moment moment) {
    return tell(moment == Moment::kOffered ? kAsked : kMeasured, done, total);
  };
  options_.threads = ThreadPool::process().size();
  if (measurer_ && proved_) options_.prepare = [this](const std::vector<Wanted>& wanted) { return prepare(wanted); };
  Result<Choice> choice = gather_offers(*program_, context_.providers(), options_);
  if (!choice.ok()) return unless_cancelled(choice.status());
  choice_ = std::move(*choice);
  return Status();
}

Status TacticSelection::measure() {
  const Status status = unless_cancelled(cost_offers(*program_, options_, &choice_));
  log_over_limits();
  return status;
}

Status TacticSelection::choose() {
  proving_ = true;
  WOOTZ_RETURN_IF_ERROR(unless_cancelled(choose_among(program_, context_.providers(), options_, &choice_)));
  log_over_limits();
  if (context_.services.selector != nullptr) tell_selector();
  return Status();
}

MeasureStats TacticSelection::stats() const {
  MeasureStats stats = measurer_ ? measurer_->stats() : MeasureStats();
  if (cache_only_) stats.from_cache = cache_only_->found();
  return stats;
}

}  // namespace wootz
