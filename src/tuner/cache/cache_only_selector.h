// Choosing by a timing cache alone, for a device that is not here: what was measured there decides, and tactics that
// were offered there count although no provider here can be asked for them.
#pragma once

#include <string>
#include <vector>

#include "tuner/cache/timing_cache.h"
#include "tuner/choice.h"

namespace wootz {

class CacheOnlySelector {
 public:
  CacheOnlySelector(const TimingCache& cache, std::vector<const Provider*> providers, const Limits& limits,
                    std::string isa, bool obey_pins = true)
      : cache_(cache), providers_(std::move(providers)), limits_(limits), isa_(std::move(isa)), obey_pins_(obey_pins) {}

  // For ChooseOptions::more: tactics that the cache knows, the offers lack and their providers take.
  void add_offers(const Problem& problem, std::vector<Candidate>* offers);
  // For ChooseOptions::cost: the time in the cache. Where it has any for the problem, candidates without one are
  // refused: estimates are not to be compared with times.
  Status cost(const Problem& problem, EvaluatedCandidate* candidate);
  size_t found() const { return found_; }  // candidates with a time

 private:
  // Of one problem, by tactic, each of one version: another version of a library is as good as none here, since it is
  // the device's machine whose version will count. This machine's own goes first, then the last.
  std::vector<std::pair<TimingKey, Timing>> entries(const Problem& problem) const;
  std::vector<std::pair<TimingKey, Timing>> of_either(const std::string& problem, const std::string& other) const;

  const TimingCache& cache_;
  std::vector<const Provider*> providers_;
  Limits limits_;
  std::string isa_;
  bool obey_pins_;
  size_t found_ = 0;
};

}  // namespace wootz
