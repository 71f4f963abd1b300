#include "quant/histogram.h"

#include <algorithm>
#include <cmath>

namespace wootz {

Status Histogram::add(std::span<const float> values) {
  double largest = 0, least = least_;
  for (const float value : values) {
    if (!std::isfinite(value)) return invalid_argument("a value is {}, of which no range can be found", value);
    largest = std::max(largest, std::abs(static_cast<double>(value)));
    least = std::min(least, static_cast<double>(value));
  }
  if (largest > 0) cover(largest);
  count_ += values.size();
  largest_ = std::max(largest_, largest);
  least_ = least;
  if (bins_.empty()) return Status();
  for (const float value : values) {
    const auto bin = static_cast<size_t>(std::abs(static_cast<double>(value)) / width_);
    ++bins_[std::min(bin, bins_.size() - 1)];
  }
  return Status();
}

void Histogram::cover(double largest) {
  if (bins_.empty()) {
    width_ = largest / static_cast<double>(kBins);
    bins_.assign(kBins, 0);
    bins_[0] = count_;  // zeros, so far
    return;
  }
  const auto needed = [&] { return std::ceil(largest / width_); };
  while (needed() > static_cast<double>(2 * kBins)) {
    bins_.resize(bins_.size() + bins_.size() % 2);
    for (size_t i = 0; i < bins_.size() / 2; ++i) bins_[i] = bins_[2 * i] + bins_[2 * i + 1];
    bins_.resize(bins_.size() / 2);
    width_ *= 2;
  }
  bins_.resize(std::max(bins_.size(), static_cast<size_t>(needed())));
}

}  // namespace wootz
