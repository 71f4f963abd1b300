// Where the absolute values of a tensor lie, over any number of batches, in memory that does not grow with them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace wootz {

class Histogram {
 public:
  // Bins from 0 to the largest value of the first batch that is not all zeros. Later batches add bins of the same
  // width; where there would be more than twice as many, each two become one.
  static constexpr size_t kBins = 2048;

  // Errors: a value that is not finite, of which nothing can be learned.
  Status add(std::span<const float> values);

  double largest() const { return largest_; }
  double least() const { return least_; }  // of the values themselves; 0 where none is negative
  uint64_t count() const { return count_; }
  double width() const { return width_; }                      // of a bin; 0: every value was 0
  const std::vector<uint64_t>& bins() const { return bins_; }  // empty: every value was 0

 private:
  void cover(double largest);

  std::vector<uint64_t> bins_;
  double width_ = 0, largest_ = 0, least_ = 0;
  uint64_t count_ = 0;
};

}  // namespace wootz
