// Concrete extents: a fixed-capacity vector of int64, so that the run path never allocates for a shape.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/limits.h"
#include "base/status.h"

namespace wootz {

class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) {
    for (int64_t v : values) push_back(v);
  }
  explicit Dims(std::span<const int64_t> values) {
    for (int64_t v : values) push_back(v);
  }
  static Dims filled(int rank, int64_t value) {
    Dims d;
    for (int i = 0; i < rank; ++i) d.push_back(value);
    return d;
  }

  int rank() const { return rank_; }
  size_t size() const { return static_cast<size_t>(rank_); }
  bool empty() const { return rank_ == 0; }
  // Silently keeps the first kMaxRank values: readers of outside input check the rank first.
  void push_back(int64_t v) {
    if (rank_ < limits::kMaxRank) d_[static_cast<size_t>(rank_++)] = v;
  }
  void pop_back() {
    if (rank_ > 0) --rank_;
  }
  int64_t& operator[](size_t i) { return d_[i]; }
  int64_t operator[](size_t i) const { return d_[i]; }
  int64_t back() const { return d_[static_cast<size_t>(rank_ - 1)]; }
  int64_t* begin() { return d_.data(); }
  int64_t* end() { return d_.data() + rank_; }
  const int64_t* begin() const { return d_.data(); }
  const int64_t* end() const { return d_.data() + rank_; }
  std::span<const int64_t> span() const { return {d_.data(), size()}; }
  bool operator==(const Dims& o) const {
    if (rank_ != o.rank_) return false;
    for (int i = 0; i < rank_; ++i)
      if (d_[static_cast<size_t>(i)] != o.d_[static_cast<size_t>(i)]) return false;
    return true;
  }

  // Number of elements; 1 for a scalar. Only for shapes that were checked (see checked_volume).
  int64_t volume() const {
    int64_t v = 1;
    for (int64_t d : *this) v *= d;
    return v;
  }
  // Row-major strides in elements.
  Dims strides() const {
    Dims s = *this;
    int64_t step = 1;
    for (int i = rank_ - 1; i >= 0; --i) {
      s.d_[static_cast<size_t>(i)] = step;
      step *= d_[static_cast<size_t>(i)];
    }
    return s;
  }
  std::string to_string() const;  // "[1x3x224x224]", "[]"

 private:
  std::array<int64_t, limits::kMaxRank> d_{};
  int rank_ = 0;
};

// Volume with overflow, sign and limits::kMaxElements checked.
Result<int64_t> checked_volume(std::span<const int64_t> dims);

// NumPy broadcasting of two concrete shapes.
Result<Dims> broadcast_dims(const Dims& a, const Dims& b);

// Strides of `from` when read over `to` (broadcast axes have stride 0). `from` must broadcast to `to`.
Dims broadcast_strides(const Dims& from, const Dims& to);

// axis in [-rank, rank) -> [0, rank).
Result<int> normalize_axis(int64_t axis, int rank);

}  // namespace wootz
