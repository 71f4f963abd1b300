// What a candidate costs, found out by running it: ChooseOptions::cost. Candidates whose results are wrong do not
// count, however fast they are.
#pragma once

#include <memory>
#include <optional>

#include "backend/device.h"
#include "backend/kernel_cache.h"
#include "tuner/cache/timing_cache.h"
#include "tuner/choice.h"
#include "tuner/measure/benchmark_run.h"
#include "tuner/measure/check_case.h"
#include "tuner/measure/rotation.h"
#include "tuner/measure/run_timer.h"
#include "tuner/measure/windows.h"

namespace wootz {

// The value of a constant input of a step, row-major.
using ConstantFunction = std::function<Result<HostTensor>(StepIndex step, size_t input)>;

struct MeasureOptions {
  std::vector<const Provider*> providers;
  std::shared_ptr<Device> device;
  Stream* stream = nullptr;
  Limits limits;                    // as for choosing
  KernelCache* kernels = nullptr;   // of the build: gets the fastest of each step; null: none is kept
  TimingCache* cache = nullptr;     // consulted and filled; null: none
  size_t shared_memory = SIZE_MAX;  // that a block of a kernel may take; more: it is not run
  bool obey_pins = true;            // of the cache
  bool wait_each = false;           // for a kernel before it is timed: a fault there ends the build
  bool independent_places = false;  // kernels whose sums of products depend on their place are refused
  bool error_on_miss = false;       // a candidate that the cache does not know ends the build
  RunTimer* timer = nullptr;        // null: host_timer()
  ConstantFunction constants;       // null: random values
  ReferenceFunction reference;      // null: nothing is checked
  double check_work = 2e7;          // multiplications of the reference on one case
  double budget_us = 0;  // from the first candidate on; once spent, further steps keep estimates. 0: no bound
  SamplingOptions sampling;
  // Rivals of a kernel that stood the check are held against what it makes of the whole problem: for devices whose
  // kernels are compiled, which for the small case would be as much work again.
  bool against_rivals = false;
  // The cache is written and asked by classes of problems (problem_class.h): where what is recalled is proved, or
  // kernels are the host's, tested elsewhere. What it knows of the very problem serves too.
  bool by_class = false;
  // Bytes of the device's memory that copies of constants may take, so that they are timed as they come from there
  // (rotation.h). 0: they are timed as the device's cache has them.
  size_t rotation = 0;
  size_t network_constants = 0;  // bytes, of all the network that this is a part of
  bool in_turn = false;  // rivals are timed in turn with the fastest so far: for machines that also do other work
  uint64_t seed = 1;
};

struct MeasureStats {
  size_t timed = 0;  // candidates that ran
  size_t from_cache = 0;
  size_t refused = 0;    // failed or wrong, found here
  size_t unchecked = 0;  // timed, but the reference could not be asked
  size_t over_budget = 0;
  size_t proved = 0;  // chosen without being timed, run, and compared with the reference
  double proof_us = 0;
  double timed_us = 0;
  // Where the time of measuring went: values of operands and constants in a kernel's form, creating and binding kernels
  // with memory for them, comparing, timing with what comes before it (recording, warming up).
  double operands_us = 0, kernels_us = 0, checks_us = 0, sampling_us = 0;
  double between_us = 0;  // what timing among other steps took, of which the above are parts
};

// Not thread-safe. Steps with a single candidate are left alone: there is nothing to choose.
class Measurer {
 public:
  explicit Measurer(MeasureOptions options);
  ~Measurer();

  // For ChooseOptions::cost; the candidates of a step come one after the other. A candidate that fails or is wrong gets
  // a refusal with the numbers, which is no error. Errors: cancelled, error_on_miss.
  Status cost(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate);
  std::function<Status(const Problem&, StepIndex, EvaluatedCandidate*)> as_cost();
  // Whether cost() will find the candidate in the cache, or has nothing to run it for.
  bool knows(const Problem& problem, const EvaluatedCandidate& candidate) const;
  // For ChooseOptions::prove: runs a candidate once at the optimum. One that the cache did not know is held against the
  // reference too; where that cannot be asked, it is not run on operands that were never tried. What fails or is wrong
  // gets a refusal; that the device has no memory for a benchmark is none.
  Status prove(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate);
  // For ChooseOptions::between.
  Result<std::vector<double>> between(const PlacedTactic* before, const std::vector<PlacedTactic>& rivals,
                                      const PlacedTactic* after);
  // Refuses a candidate over the limits, or as options say; ok without a refusal: it may be costed. By cost() and
  // prove(); by itself for candidates that go by their estimates.
  Status check_limits(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate);
  const MeasureStats& stats() const { return stats_; }

 private:
  struct StepState;
  struct Standing;
  KernelCache& creator() { return options_.kernels != nullptr ? *options_.kernels : unkept_; }
  TimingKey key_of(const Problem& problem, const Provider& provider, const Tactic& tactic, bool by_class) const;
  TimingKey key_of(const Problem& problem, const Provider& provider, const Tactic& tactic) const {
    return key_of(problem, provider, tactic, options_.by_class);
  }
  // The keys by which the cache may know it, the one that it is written by first.
  std::vector<TimingKey> keys_of(const Problem& problem, const Provider& provider, const Tactic& tactic) const;
  Result<Timing> measure(const Problem& problem, StepIndex step, const Provider& provider, const Tactic& tactic);
  // A kernel with its constants, then with all that it needs to run at the problem's optimum.
  struct Made {
    std::shared_ptr<const Kernel> kernel;
    PackedConstants constants;
  };
  Result<Made> make(const Problem& problem, StepIndex step, const Tactic& tactic);
  Result<BenchmarkRun> ready(const Made& made, const Problem& problem);
  Result<BenchmarkRun> at_optimum(const Kernel& kernel, const PackedConstants& constants, const Problem& problem);
  Result<std::unique_ptr<Standing>> stand(const PlacedTactic& placed);
  bool has_time_between() const;
  TimingKey between_key(const PlacedTactic* before, const PlacedTactic& rival, const PlacedTactic* after) const;
  Result<std::vector<double>> time_between(const PlacedTactic* before, const std::vector<PlacedTactic>& rivals,
                                           const PlacedTactic* after);
  Result<Sample> sample(const Problem& problem, BenchmarkRun* benchmark);
  void keep_fastest(Made made, BenchmarkRun benchmark, const Problem& problem, const Tactic& tactic, double us);
  Status check_candidate(const Made& made, const BenchmarkRun& benchmark, const Problem& problem, StepIndex step,
                         std::vector<HostTensor>* whole, Timing* timing);
  const CheckCase* whole_case(const Problem& problem, StepIndex step);
  double coarseness(const Problem& problem) const;
  const std::vector<CheckWindow>& windows(const Problem& problem, StepIndex step, const Kernel& kernel);
  void check_windows(const Problem& problem, StepIndex step, const std::vector<CheckWindow>& windows, double stray,
                     const std::vector<HostTensor>& results, Timing* timing);
  void decide_on_whole(const Problem& problem, const CheckCase& expected, double stray,
                       const std::vector<HostTensor>& results, Timing* timing) const;
  bool finite_expected() const;
  Status check_results(const Kernel& kernel, const Problem& problem, StepIndex step, const PackedConstants& constants,
                       std::vector<HostTensor> results, Timing* timing);
  Status check(const Kernel& kernel, const Problem& problem, StepIndex step, const PackedConstants& constants,
               double stray, Timing* timing);
  Result<std::string> compare_on(const CheckCase& expected, const Kernel& kernel, const Problem& problem,
                                 const PackedConstants& constants, double stray, double* error) const;
  Status check_places(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate);
  Status run_and_wait(const BenchmarkRun& benchmark, const Tactic& tactic);
  Status check_shared(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate);
  void start_step(StepIndex step);
  Status begin_step(const Problem& problem, StepIndex step);
  Result<std::string> non_finite(const BenchmarkRun& benchmark) const;
  Status run_once(const Problem& problem, StepIndex step, EvaluatedCandidate* candidate);
  bool recall(const TimingCache& cache, const std::vector<TimingKey>& keys, EvaluatedCandidate* candidate);
  void apply(const Timing& timing, EvaluatedCandidate* candidate);

  MeasureOptions options_;
  KernelCache unkept_;  // creates where nothing is to be kept
  MeasureStats stats_;
  ConstantRotation rotation_;
  std::optional<double> start_us_;
  Status fault_;  // of a kernel that was waited for
  std::unique_ptr<StepState> state_;
};

}  // namespace wootz
