// What is about to be chosen without having been measured now (an estimate, or a time from the timing cache) is run
// once: measured candidates were compared with the reference, these were not.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/choice.h"

namespace wootz {

class Proofs {
 public:
  Proofs(const Program& program, const ChooseOptions& options);
  // `chosen`: a candidate of each step. True: some were refused, and the choice is to be made again. Errors: a step all
  // of whose candidates are refused, cancelled.
  Result<bool> refuse_failing(const IndexedVector<StepIndex, int>& chosen, Choice* choice);

 private:
  bool sized_by_running(const Step& step) const;
  bool open(StepIndex s, StepIndex first, int chosen, const EvaluatedCandidate& candidate) const;
  Status prepare(const IndexedVector<StepIndex, int>& chosen, const Choice& choice) const;
  void warn(const Step& step, const EvaluatedCandidate& refused) const;

  const Program& program_;
  const ChooseOptions& options_;
  std::map<std::string, std::vector<StepIndex>> equal_;  // steps by problem: they share their candidates
  std::set<std::pair<StepIndex, int>> proved_;           // first step of the problem, candidate
};

}  // namespace wootz
