// Measurer::between(): a step's rivals timed among the steps around it.
#include "backend/providers.h"
#include "base/thread_pool.h"
#include "tuner/cache/tactic_text.h"
#include "tuner/measure/lap.h"
#include "tuner/measure/measure.h"

namespace wootz {

// Ready to run; a run refers to its problem.
struct Measurer::Standing {
  Problem problem;
  Made made;
  std::optional<BenchmarkRun> run;
};

Result<std::unique_ptr<Measurer::Standing>> Measurer::stand(const PlacedTactic& placed) {
  start_step(placed.step);
  auto standing = std::make_unique<Standing>();
  standing->problem = placed.problem;
  WOOTZ_ASSIGN_OR_RETURN(standing->made, make(standing->problem, placed.step, placed.tactic));
  WOOTZ_ASSIGN_OR_RETURN(BenchmarkRun run, ready(standing->made, standing->problem));
  run.share_in_place(*standing->made.kernel);
  standing->run.emplace(std::move(run));
  return standing;
}

// A part of what all measuring takes, or some tenths of a second.
bool Measurer::has_time_between() const {
  constexpr double kLeastUs = 3e5, kPart = 0.25;
  return stats_.between_us <
         std::max(kLeastUs, kPart * (stats_.operands_us + stats_.kernels_us + stats_.checks_us + stats_.sampling_us));
}

// A rival between these, as the timing cache calls it.
TimingKey Measurer::between_key(const PlacedTactic* before, const PlacedTactic& rival,
                                const PlacedTactic* after) const {
  std::string around;
  for (const PlacedTactic* p : {before, after})
    around += p == nullptr ? "none " : p->problem.key() + ' ' + tactic_text(p->problem, p->tactic) + ' ';
  TimingKey key =
      key_of(rival.problem, *provider_named(rival.tactic.provider, options_.providers), rival.tactic, false);
  key.problem = cut_key(fmt::format("between {}{}", around, key.problem));
  return key;
}

Result<std::vector<double>> Measurer::between(const PlacedTactic* before, const std::vector<PlacedTactic>& rivals,
                                              const PlacedTactic* after) {
  std::vector<TimingKey> keys;  // for the cache
  std::vector<double> us;
  for (size_t i = 0; i < rivals.size() && options_.cache != nullptr; ++i) {
    keys.push_back(between_key(before, rivals[i], after));
    if (const auto known = options_.cache->query(keys[i])) us.push_back(known->median_us);
  }
  if (us.size() == rivals.size()) return us;
  if (options_.error_on_miss || !has_time_between()) return std::vector<double>();
  const Lap lap(*options_.timer, &stats_.between_us);
  Result<std::vector<double>> timed = time_between(before, rivals, after);
  if (timed.status().code() == Code::kCancelled) return timed;
  if (!timed.ok()) return std::vector<double>(rivals.size());  // what failed, for want of memory, changes nothing
  for (size_t i = 0; i < keys.size(); ++i) {
    Timing timing;
    timing.median_us = (*timed)[i];
    timing.runs = 1;
    WOOTZ_RETURN_IF_ERROR(options_.cache->update(keys[i], timing));
  }
  return timed;
}

Result<std::vector<double>> Measurer::time_between(const PlacedTactic* before, const std::vector<PlacedTactic>& rivals,
                                                   const PlacedTactic* after) {
  const ParallelScope threads(options_.limits.threads);
  const ActiveScope active;
  std::unique_ptr<Standing> first, last, own;
  if (before != nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(first, stand(*before));
  }
  if (after != nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(last, stand(*after));
  }
  const auto around = [&](const Standing& standing) -> Status {
    if (first) WOOTZ_RETURN_IF_ERROR(first->run->run());
    WOOTZ_RETURN_IF_ERROR(standing.run->run());
    return last ? last->run->run() : Status();
  };
  const auto rotate = [&](Standing& standing, size_t place) -> Status {
    std::byte* const memory = rotation_.concerns(standing.problem) ? rotation_.memory(place) : nullptr;
    return memory == nullptr ? Status() : standing.run->rotate_constants(memory, rotation_.bytes()).status();
  };
  SamplingOptions sampling = options_.sampling;
  sampling.good_spread /= 4;
  std::vector<double> us;
  std::shared_ptr<const Kernel> fastest;
  size_t best = 0;
  for (const PlacedTactic& rival : rivals) {
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Standing> standing, stand(rival));
    WOOTZ_RETURN_IF_ERROR(rotate(*standing, own ? 1 : 0));
    const auto run = [&] { return around(*standing); };
    Sample sample;
    if (own) {
      const auto others = [&] { return around(*own); };
      WOOTZ_ASSIGN_OR_RETURN(sample, sample_alternating(*options_.timer, run, others, us[0], sampling));
    } else {
      WOOTZ_ASSIGN_OR_RETURN(sample, sample_run(*options_.timer, run, sampling, 0));
    }
    us.push_back(sample.median_us);
    if (us.back() < us[best]) best = us.size() - 1, fastest = standing->made.kernel;
    if (!own) own = std::move(standing);
  }
  if (fastest && options_.kernels != nullptr)
    options_.kernels->keep(rivals[best].tactic, rivals[best].problem, fastest);
  return us;
}

}  // namespace wootz
