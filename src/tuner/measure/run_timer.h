// How long something takes, robustly: the median of batches, as many as it takes, no more.
#pragma once

#include <vector>

#include "base/function_ref.h"
#include "base/status.h"

namespace wootz {

// The clock of all measuring. Tests bring their own; a device whose work is asynchronous waits for it.
class RunTimer {
 public:
  virtual ~RunTimer() = default;
  // Microseconds that `times` runs in a row take. The first failure ends it.
  virtual Result<double> batch_us(FunctionRef<Status()> run, int times) = 0;
  // One such batch after the other, as long as `more` says of the last one's time that it wants another: what a batch
  // needs is got ready once.
  virtual Status batches_us(FunctionRef<Status()> run, int times, FunctionRef<bool(double us)> more);
  // From now on so many runs in a row differ in what they read, and then come round again: what is got ready for a
  // batch has all of them.
  virtual void expect_cycle(int runs) { (void)runs; }
  // What a batch of one run may take beyond the run's own time, in microseconds.
  virtual double lone_us() const { return 0; }
  // Microseconds since any fixed moment, for time budgets.
  virtual double now_us() = 0;
};
// The steady clock of the host.
RunTimer& host_timer();

struct SamplingOptions {
  double batch_us = 500;     // a batch lasts at least this long, so that the clock's grain does not show
  double total_us = 30'000;  // no fourth batch after this much
  int min_batches = 5;
  int max_batches = 25;
  double good_spread = 0.02;  // precise enough to stop
  double hopeless = 3;        // times the best rival: stop at once, it will not be chosen
  double lost = 1.25;         // times the best rival: a few batches are enough to say so
  int cycle = 1;              // runs that differ, of sample_run(): a batch has all of them, unless they take long
};

// Linear between the neighbours; `sorted` is not empty. 0.5: the median.
double quantile(const std::vector<double>& sorted, double q);

struct Sample {
  double median_us = 0;
  double spread = 0;    // half the distance between the quartiles, relative to the median
  uint32_t runs = 0;    // of the median
  double spent_us = 0;  // with warming up
};

// `best_us`: the fastest rival so far, 0: none yet.
Result<Sample> sample_run(RunTimer& timer, FunctionRef<Status()> run, const SamplingOptions& options, double best_us);

// The same in turn with the fastest rival, known to take `rival_us`: how much longer a batch took than the rival's
// in turns with it, the median over the quietest moments. What slows both (other work on the machine, a clock that
// falls) then does not count.
Result<Sample> sample_alternating(RunTimer& timer, FunctionRef<Status()> run, FunctionRef<Status()> rival,
                                  double rival_us, const SamplingOptions& options);

}  // namespace wootz
