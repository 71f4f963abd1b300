#include "backends/cpu/rnn/split.h"

#include <algorithm>

namespace wootz::cpu {
namespace {

// As seen, of one core.
constexpr double kGangUs = 4;     // to begin with several threads
constexpr double kMeetUs = 0.25;  // to wait for each other once
constexpr double kCellNs = 0.8;   // a unit of a sequence, LSTM
// Bytes a ns, by where the state's weights are between two steps.
constexpr double kNearBytes = 90, kFarBytes = 50, kMemoryBytes = 12;                // second-level cache, third, memory
double multiply_adds_per_us(Isa isa) { return isa == Isa::kAvx512 ? 70e3 : 35e3; }  // multiply-adds

double of(int64_t n) { return static_cast<double>(n); }

// A thread reads `weights` values in every step; the cache that threads share has those of `directions` directions.
double read_us(const Recurrence& r, double weights, int64_t directions) {
  const double near = of(static_cast<int64_t>(cpu_info().l2)) * 0.6,
               far = of(static_cast<int64_t>(cpu_info().l3)) * 0.6;
  const double bytes = weights * 4, shared = of(directions * r.width() * r.hidden) * 4;
  return bytes * 1e-3 / (bytes <= near ? kNearBytes : shared <= far ? kFarBytes : kMemoryBytes);
}

double layer_us(const Recurrence& r, Isa isa, int team, int64_t groups, int64_t teams) {
  const double rows = of((r.batch + groups - 1) / groups), rounds = of((r.directions * groups + teams - 1) / teams);
  const double weights = of(r.width()) * of(r.hidden) / team;
  const int64_t at_once = std::min(r.directions, (teams + groups - 1) / groups);  // groups of a direction follow
  const double read = read_us(r, weights, at_once);
  const double cells = rows * of(r.hidden) * kCellNs * 1e-3 / team;
  const double meet = team == 1 ? 0 : kMeetUs * (r.kind == RnnKind::kGru && !r.linear_before_reset ? 2 : 1);
  const double step = std::max(read, rows * weights / multiply_adds_per_us(isa)) + cells + meet;
  const double inputs = rows * of(r.width()) * of(r.inputs) / team / multiply_adds_per_us(isa);
  return rounds * of(r.steps) * (step + inputs) + (team > 1 || teams > 1 ? kGangUs : 0);
}

}  // namespace

RnnSplit split_layer(const Recurrence& r, Isa isa, int threads, bool teams) {
  RnnSplit best;
  best.us = layer_us(r, isa, 1, 1, 1);
  for (int team = 1; team <= (teams ? threads : 1); ++team)
    for (int64_t groups = 1; groups <= std::max<int64_t>(1, std::min<int64_t>(r.batch, threads / team)); ++groups) {
      const int64_t count = std::min<int64_t>(threads / team, r.directions * groups);
      const double us = layer_us(r, isa, team, groups, count);
      if (us < best.us) best = {team, groups, static_cast<int>(team * count), us};
    }
  return best;
}

}  // namespace wootz::cpu
