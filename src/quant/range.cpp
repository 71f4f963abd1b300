#include "quant/range.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wootz {
namespace {

struct MethodName {
  RangeMethod method;
  const char *name, *option;
};
constexpr MethodName kNames[] = {{RangeMethod::kLegacy, "LegacyCalibration", "legacy"},
                                 {RangeMethod::kEntropy, "EntropyCalibration", "entropy"},
                                 {RangeMethod::kEntropy2, "EntropyCalibration2", "entropy2"},
                                 {RangeMethod::kMinMax, "MinMaxCalibration", "minmax"},
                                 {RangeMethod::kLeastError, "LeastErrorCalibration", "least_error"}};

constexpr size_t kLevels = 128;
constexpr double kSteps = 127;

// Of all values. Where there are few, and none near 0, nothing is lost by 128 steps up to the first of them, and all
// others counted as that one: it would be the least divergent end.
constexpr double kMostCut = 0.1;

double xlogx(double x) { return x > 0 ? x * std::log(x) : 0; }

// Sums over the bins before each one, so that a step of any width costs the same.
class Divergence {
 public:
  explicit Divergence(std::vector<double> bins) : bins_(std::move(bins)) {
    for (const double c : bins_) {
      sum_.push_back(sum_.back() + c);
      filled_.push_back(filled_.back() + (c > 0 ? 1 : 0));
      logs_.push_back(logs_.back() + xlogx(c));
    }
  }

  // Of the values from what `kLevels` steps over the first `end` bins make of them; infinity where those bins are
  // empty, or where values are cut off onto a last bin that had none, or too many of them.
  double at(size_t end) const {
    const double inside = sum_[end], cut = sum_.back() - inside, last = bins_[end - 1];
    if (inside == 0 || (cut > 0 && last == 0) || cut > kMostCut * sum_.back())
      return std::numeric_limits<double>::infinity();
    double divergence = logs_[end] - xlogx(last) + xlogx(last + cut);
    for (size_t level = 0; level < kLevels; ++level) {
      const size_t from = first_of(level, end), to = first_of(level + 1, end);
      const double sum = sum_[to] - sum_[from];
      if (sum == 0) continue;
      const double all = sum + (to == end ? cut : 0);
      divergence -= all * std::log(sum / (filled_[to] - filled_[from]));
    }
    return divergence / sum_.back() + std::log(inside) - std::log(sum_.back());
  }

 private:
  static size_t first_of(size_t level, size_t end) { return (level * end + kLevels - 1) / kLevels; }

  std::vector<double> bins_, sum_{0}, filled_{0}, logs_{0};
};

// Every range has 0 as a step of its own, so that the many zeros after a ReLU say nothing of where to cut.
std::vector<double> counts_but_zeros(const std::vector<uint64_t>& bins) {
  std::vector<double> counts(bins.begin(), bins.end());
  if (counts.size() > 1) counts[0] = counts[1];
  return counts;
}

double quantile_range(const Histogram& values, double quantile) {
  const double wanted = quantile * static_cast<double>(values.count());
  double below = 0;
  for (size_t bin = 0; bin < values.bins().size(); ++bin) {
    below += static_cast<double>(values.bins()[bin]);
    if (below >= wanted) return static_cast<double>(bin + 1) * values.width();
  }
  return values.largest();
}

double uncapped_range(const Histogram& values, const RangeRule& rule) {
  switch (rule.method) {
    case RangeMethod::kMinMax: return values.largest();
    case RangeMethod::kLegacy: return std::max(quantile_range(values, rule.quantile), rule.cutoff * values.largest());
    case RangeMethod::kLeastError: return static_cast<double>(least_error_bin(values.bins())) * values.width();
    case RangeMethod::kEntropy:
    case RangeMethod::kEntropy2: return static_cast<double>(least_divergent_bin(values.bins())) * values.width();
  }
  return values.largest();
}

}  // namespace

const char* range_method_name(RangeMethod method) {
  for (const MethodName& each : kNames)
    if (each.method == method) return each.name;
  return "";
}

std::optional<RangeMethod> range_method_from_name(std::string_view name) {
  for (const MethodName& each : kNames)
    if (each.name == name) return each.method;
  return std::nullopt;
}

Result<RangeMethod> range_method_from_option(std::string_view text) {
  for (const MethodName& each : kNames)
    if (each.option == text) return each.method;
  return invalid_argument("'{}' is none of least_error, entropy2, entropy, minmax, legacy", text);
}

size_t least_divergent_bin(const std::vector<uint64_t>& bins) {
  const Divergence divergence(counts_but_zeros(bins));
  size_t best = bins.size();
  double least = std::numeric_limits<double>::infinity();
  for (size_t end = kLevels; end <= bins.size(); ++end) {
    const double now = divergence.at(end);
    if (now > least || !std::isfinite(now)) continue;
    least = now;
    best = end;
  }
  return best;
}

size_t least_error_bin(const std::vector<uint64_t>& bins) {
  const std::vector<double> counts = counts_but_zeros(bins);
  // In widths of a bin. Above the end: of their number, their values and the squares of these.
  double inside = 0, above = 0, values = 0, squares = 0;
  const auto middle = [](size_t bin) { return static_cast<double>(bin) + 0.5; };
  for (size_t bin = 0; bin < counts.size(); ++bin) {
    above += counts[bin];
    values += counts[bin] * middle(bin);
    squares += counts[bin] * middle(bin) * middle(bin);
  }
  size_t best = counts.size();
  double least = std::numeric_limits<double>::infinity();
  for (size_t end = 1; end <= counts.size(); ++end) {
    const double count = counts[end - 1], at = middle(end - 1), range = static_cast<double>(end);
    inside += count;
    above -= count;
    values -= count * at;
    squares -= count * at * at;
    if (end < kLevels) continue;
    const double step = range / kSteps, cut = squares - 2 * range * values + range * range * above;
    const double error = inside * step * step / 12 + std::max(cut, 0.0);
    if (error > least) continue;
    least = error;
    best = end;
  }
  return best;
}

double find_range(const Histogram& values, const RangeRule& rule) {
  if (values.bins().empty()) return 1;
  return std::min(uncapped_range(values, rule), values.largest());
}

}  // namespace wootz
