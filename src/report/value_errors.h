// How far the values of one tensor are from those of another, over any number of batches.
#pragma once

#include <array>
#include <cstdint>

#include "base/json.h"
#include "base/status.h"
#include "base/tensor.h"

namespace wootz {

class ValueErrors {
 public:
  // Absolute differences are counted by powers of ten: below 1e-9, ..., from 1e3 on.
  static constexpr int kBins = 14, kFirstPower = -9;

  // Errors: extents differ, or one holds numbers of floating point and the other does not.
  Status add(const HostTensor& a, const HostTensor& b);

  // Root mean square of the differences as a part of that of `a`; of integers the part of the elements that differ.
  // Elements that are no finite numbers are left out. At most kLargest, which stands for infinity.
  double error() const;
  static constexpr double kLargest = 1e30;
  double largest_difference() const { return largest_; }
  double mean_difference() const { return compared_ == 0 ? 0 : sum_ / static_cast<double>(compared_); }
  double largest_value() const { return largest_value_; }
  double cosine() const;
  uint64_t elements() const { return elements_; }
  // Elements that are infinite or NaN in one of the two, and those that are not so in the same way in both.
  uint64_t not_finite(int side) const { return not_finite_[side]; }
  uint64_t mismatched() const { return mismatched_; }
  // The first such element, as an index into the row-major tensor; -1: none.
  int64_t first_not_finite(int side) const { return first_[side]; }
  // Of elements with a difference.
  const std::array<uint64_t, kBins>& histogram() const { return bins_; }

 private:
  template <typename A, typename B>
  void add_all(int64_t count, const A& a, const B& b);
  void add_one(int64_t at, double a, double b);
  bool note_not_finite(int64_t at, double a, double b);

  bool floats_ = true;
  uint64_t elements_ = 0, compared_ = 0, differing_ = 0, mismatched_ = 0;
  uint64_t not_finite_[2] = {};
  int64_t first_[2] = {-1, -1};
  double sum_ = 0, squares_ = 0, squares_a_ = 0, squares_b_ = 0, products_ = 0, largest_ = 0, largest_value_ = 0;
  std::array<uint64_t, kBins> bins_{};
};

}  // namespace wootz
