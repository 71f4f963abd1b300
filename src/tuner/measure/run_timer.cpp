#include "tuner/measure/run_timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

namespace wootz {
namespace {

constexpr int kMostTimes = 100'000;  // runs of one batch
constexpr double kNoisy = 0.1;       // spread that is worth more time: the machine does other work
constexpr double kPatience = 4;      // how many times as much
constexpr int kFewest = 3;           // batches: one of them may be an outlier
constexpr int kMostCycling = 8;      // times as many runs as a batch needs, to have a whole cycle

class HostTimer final : public RunTimer {
 public:
  Result<double> batch_us(FunctionRef<Status()> run, int times) override {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < times; ++i) WOOTZ_RETURN_IF_ERROR(run());
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }
  double now_us() override {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
};

void summarize(std::vector<double> each, Sample* sample) {
  std::sort(each.begin(), each.end());
  sample->median_us = quantile(each, 0.5);
  const double range = quantile(each, 0.75) - quantile(each, 0.25);
  sample->spread = sample->median_us > 0 ? range / 2 / sample->median_us : 0;
}

}  // namespace

double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
}

Status RunTimer::batches_us(FunctionRef<Status()> run, int times, FunctionRef<bool(double us)> more) {
  for (;;) {
    WOOTZ_ASSIGN_OR_RETURN(const double us, batch_us(run, times));
    if (!more(us)) return Status();
  }
}

RunTimer& host_timer() {
  static HostTimer timer;
  return timer;
}

namespace {

// Batches of one timer, and what they took in all.
class Batches {
 public:
  Batches(RunTimer& timer, double* spent_us) : timer_(timer), spent_us_(spent_us) {}
  Result<double> operator()(FunctionRef<Status()> run, int times) {
    Result<double> us = timer_.batch_us(run, times);
    if (us.ok()) WOOTZ_RETURN_IF_ERROR(count(*us));
    return us;
  }
  // As RunTimer::batches_us().
  Status each(FunctionRef<Status()> run, int times, FunctionRef<bool(double us)> more) {
    Status wrong;
    const Status status = timer_.batches_us(run, times, [&](double us) {
      wrong = count(us);
      return wrong.ok() && more(us);
    });
    return status.ok() ? wrong : status;
  }

 private:
  Status count(double us) {
    if (!std::isfinite(us) || us < 0) return internal_error("the clock gave {} us", us);
    *spent_us_ += us;
    return Status();
  }

  RunTimer& timer_;
  double* spent_us_;
};

int times_for(const SamplingOptions& options, double once_us) {
  const double wanted = std::ceil(options.batch_us / std::max(once_us, 1e-3));
  const int times = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(kMostTimes)));
  const int whole = (times + options.cycle - 1) / options.cycle * options.cycle;
  return whole <= kMostCycling * times ? whole : times;
}

// Of a timer that others use after this.
class CycleScope {
 public:
  CycleScope(RunTimer& timer, int runs) : timer_(timer) { timer.expect_cycle(runs); }
  ~CycleScope() { timer_.expect_cycle(1); }
  CycleScope(const CycleScope&) = delete;
  CycleScope& operator=(const CycleScope&) = delete;

 private:
  RunTimer& timer_;
};

}  // namespace

Result<Sample> sample_run(RunTimer& timer, FunctionRef<Status()> run, const SamplingOptions& options, double best_us) {
  Sample sample;
  Batches batch(timer, &sample.spent_us);
  WOOTZ_ASSIGN_OR_RETURN(const double cold, batch(run, 1));  // memory is touched, threads wake
  WOOTZ_ASSIGN_OR_RETURN(const double once, batch(run, 1));
  if (best_us > 0 && std::min(cold, once) > options.hopeless * best_us + timer.lone_us()) {
    sample.median_us = once;
    sample.runs = 1;
    return sample;
  }
  const int times = times_for(options, once);
  const CycleScope cycle(timer, options.cycle);
  std::vector<double> each;
  const auto more = [&](double us) {
    each.push_back(us / times);
    sample.runs += static_cast<uint32_t>(times);
    summarize(each, &sample);
    const int done = static_cast<int>(each.size());
    const double least = *std::min_element(each.begin(), each.end());
    if (done >= options.max_batches) return false;
    if (best_us > 0 && least > options.hopeless * best_us) return false;
    if (best_us > 0 && done >= kFewest && least > options.lost * best_us) return false;
    if (done >= options.min_batches && sample.spread <= options.good_spread) return false;
    return done < kFewest || sample.spent_us < options.total_us;
  };
  WOOTZ_RETURN_IF_ERROR(batch.each(run, times, more));
  return sample;
}

Result<Sample> sample_alternating(RunTimer& timer, FunctionRef<Status()> run, FunctionRef<Status()> rival,
                                  double rival_us, const SamplingOptions& options) {
  Sample sample;
  Batches batch(timer, &sample.spent_us);
  double once = std::numeric_limits<double>::infinity(), other = once;
  // The quickest of a few: one slow run may be the machine's doing.
  for (int i = 0; i < kFewest; ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const double us, batch(run, 1));
    WOOTZ_ASSIGN_OR_RETURN(const double theirs, batch(rival, 1));
    once = std::min(once, us);
    other = std::min(other, theirs);
    if (i > 0 && once <= options.hopeless * other) break;
  }
  if (once > options.hopeless * other) {
    sample.median_us = once * rival_us / std::max(other, 1e-6);
    sample.runs = 1;
    return sample;
  }
  const int times = times_for(options, once), rival_times = times_for(options, other);
  std::vector<std::pair<double, double>> pairs;  // of batches, a run each
  for (int b = 0; b < std::max(1, options.max_batches); ++b) {
    double us[2] = {0, 0};
    for (const bool own : {b % 2 == 0, b % 2 != 0}) {  // either goes first in turn
      WOOTZ_ASSIGN_OR_RETURN(us[own ? 0 : 1], batch(own ? run : rival, own ? times : rival_times));
    }
    sample.runs += static_cast<uint32_t>(times);
    pairs.emplace_back(us[0] / times, std::max(us[1] / rival_times, 1e-6));
    const int done = static_cast<int>(pairs.size());
    if (done < kFewest) continue;
    // Of the quietest moments.
    std::vector<std::pair<double, double>> quiet = pairs;
    std::sort(quiet.begin(), quiet.end(),
              [](const auto& a, const auto& b) { return a.first + a.second < b.first + b.second; });
    quiet.resize(static_cast<size_t>(std::max(kFewest, done / 3)));
    std::vector<double> ratios;
    for (const auto& [ours, theirs] : quiet) ratios.push_back(ours / theirs);
    summarize(std::move(ratios), &sample);
    if (done >= options.min_batches && sample.spread <= options.good_spread) break;
    const double patience = sample.spread > kNoisy ? kPatience : 1;
    if (sample.spent_us >= patience * options.total_us) break;
  }
  sample.median_us *= rival_us;
  return sample;
}

}  // namespace wootz
