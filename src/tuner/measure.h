// What a candidate costs, found out by running it: ChooseOptions::cost. Candidates whose results are wrong do not
// count, however fast they are.
#pragma once

#include <memory>
#include <optional>

#include "backend/device.h"
#include "tuner/check_case.h"
#include "tuner/choose.h"
#include "tuner/run_timer.h"
#include "tuner/timing_cache.h"

namespace wootz {

// The value of a constant input of a step, row-major.
using ConstantFunction = std::function<Result<HostTensor>(size_t step, size_t input)>;

struct MeasureOptions {
  std::vector<const Provider*> providers;
  std::shared_ptr<Device> device;
  Stream* stream = nullptr;
  Limits limits;                 // as for choosing
  TimingCache* cache = nullptr;  // consulted and filled; null: none
  bool error_on_miss = false;    // a candidate that the cache does not know ends the build
  RunTimer* timer = nullptr;     // null: host_timer()
  ConstantFunction constants;    // null: random values
  ReferenceFunction reference;   // null: nothing is checked
  double check_work = 2e7;       // multiplications of the reference on one case
  double budget_us = 0;          // from the first candidate on; once spent, further steps keep estimates. 0: no bound
  SamplingOptions sampling;
  bool in_turn = false;  // rivals are timed in turn with the fastest so far: for machines that also do other work
  uint64_t seed = 1;
};

struct MeasureStats {
  size_t timed = 0;  // candidates that ran
  size_t from_cache = 0;
  size_t refused = 0;    // failed or wrong, found here
  size_t unchecked = 0;  // timed, but the reference could not be asked
  size_t over_budget = 0;
  double timed_us = 0;
};

// Not thread-safe. Steps with a single candidate are left alone: there is nothing to choose.
class Measurer {
 public:
  explicit Measurer(MeasureOptions options);
  ~Measurer();

  // For ChooseOptions::cost; the candidates of a step come one after the other. A candidate that fails or is wrong gets
  // a refusal with the numbers, which is no error. Errors: cancelled, error_on_miss.
  Status cost(const Problem& problem, size_t step, Considered* candidate);
  std::function<Status(const Problem&, size_t, Considered*)> as_cost();
  // Runs a candidate once at the optimum, without a look at its time or results: for choices known from the cache.
  Status prove(const Problem& problem, size_t step, const Candidate& candidate);
  const MeasureStats& stats() const { return stats_; }

 private:
  struct StepState;
  TimingKey key_of(const Problem& problem, const Provider& provider, const Tactic& tactic) const;
  Result<Timing> measure(const Problem& problem, size_t step, const Provider& provider, const Tactic& tactic);
  Status check(const Kernel& kernel, const Problem& problem, size_t step, const struct PackedConstants& constants,
               Timing* timing);
  Result<std::string> compare_on(const CheckCase& expected, const Kernel& kernel, const Problem& problem,
                                 const PackedConstants& constants, double* error) const;
  Status begin_step(const Problem& problem, size_t step);
  void apply(const Timing& timing, Considered* candidate);

  MeasureOptions options_;
  MeasureStats stats_;
  std::optional<double> start_us_;
  std::unique_ptr<StepState> state_;
};

}  // namespace wootz
