#include "tuner/run_timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace wootz {
namespace {

constexpr int kMostTimes = 100'000;  // runs of one batch
constexpr int kFewest = 3;           // batches: one of them may be an outlier

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

// Linear between the neighbours; `sorted` is not empty.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
}

void summarize(std::vector<double> each, Sample* sample) {
  std::sort(each.begin(), each.end());
  sample->median_us = quantile(each, 0.5);
  const double range = quantile(each, 0.75) - quantile(each, 0.25);
  sample->spread = sample->median_us > 0 ? range / 2 / sample->median_us : 0;
}

}  // namespace

RunTimer& host_timer() {
  static HostTimer timer;
  return timer;
}

Result<Sample> sample_run(RunTimer& timer, FunctionRef<Status()> run, const SamplingOptions& options, double best_us) {
  Sample sample;
  const auto batch = [&](int times) -> Result<double> {
    Result<double> us = timer.batch_us(run, times);
    if (!us.ok()) return us;
    if (!std::isfinite(*us) || *us < 0) return internal_error("the clock gave {} us", *us);
    sample.spent_us += *us;
    return us;
  };
  WOOTZ_ASSIGN_OR_RETURN(const double cold, batch(1));  // memory is touched, threads wake
  WOOTZ_ASSIGN_OR_RETURN(const double once, batch(1));
  if (best_us > 0 && std::min(cold, once) > options.hopeless * best_us) {
    sample.median_us = once;
    sample.runs = 1;
    return sample;
  }
  const double wanted = std::ceil(options.batch_us / std::max(once, 1e-3));
  const int times = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(kMostTimes)));
  std::vector<double> each;
  for (int b = 0; b < std::max(1, options.max_batches); ++b) {
    WOOTZ_ASSIGN_OR_RETURN(const double us, batch(times));
    each.push_back(us / times);
    sample.runs += static_cast<uint32_t>(times);
    summarize(each, &sample);
    const int done = static_cast<int>(each.size());
    if (best_us > 0 && *std::min_element(each.begin(), each.end()) > options.hopeless * best_us) break;
    if (done >= options.min_batches && sample.spread <= options.good_spread) break;
    if (done >= kFewest && sample.spent_us >= options.total_us) break;
  }
  return sample;
}

}  // namespace wootz
