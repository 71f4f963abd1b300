// Choosing the kernels of one program in three moves: who offers, what that costs, what is taken.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/progress.h"
#include "build/context.h"
#include "build/tactic_selector.h"
#include "lower/lowered.h"
#include "tuner/cache/cache_only_selector.h"
#include "tuner/choice.h"
#include "tuner/measure/device_timer.h"
#include "tuner/measure/measure.h"

namespace wootz {

class TacticSelection {
 public:
  // Keeps references to all three. `body`: of a control step, which no application binds anything to.
  TacticSelection(BuildContext& context, const Lowered& lowered, Program* program, Progress* progress, bool body);
  Status offer();
  Status measure();
  Status choose();

  Choice take_choice() { return std::move(choice_); }
  MeasureStats stats() const;

 private:
  Status make_measurer();
  LayerOffer offer_of(StepIndex step, const std::vector<const Candidate*>& candidates) const;
  Status ask_selector(StepIndex step, StepReport* report);
  void tell_selector() const;
  void log_over_limits();
  Status at_layer(StepIndex step, const Status& status) const;
  const ForcedTactic* forced_instead(StepIndex step, const Tactic& tactic) const;
  void apply_settings(StepIndex step, EvaluatedCandidate* candidate);
  Status prepare(const std::vector<Wanted>& wanted);
  bool tell(size_t moment, size_t done, size_t total);
  Status cost(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate);
  Status unless_cancelled(Status status) const { return phase_.status().ok() ? std::move(status) : phase_.status(); }

  BuildContext& context_;
  const Lowered& lowered_;
  Program* program_;
  bool body_;
  size_t steps_;  // their number
  IndexedVector<StepIndex, std::string> names_;
  bool timed_;   // kernels compete by time, not by estimate
  bool proved_;  // what is chosen unmeasured is run once
  bool proving_ = false;
  ProgressPhase phase_;
  std::unique_ptr<DeviceTimer> timer_;
  std::optional<Measurer> measurer_;
  std::optional<CacheOnlySelector> cache_only_;
  ChooseOptions options_;
  Choice choice_;
  std::set<std::string> over_limits_;  // that were logged
  StepIndex counted_step_;
  int counted_ = 0;  // candidates of that step
};

}  // namespace wootz
