// Copies an n-dimensional box between two strided places: every transpose, slice, concatenation, expansion and change
// of layout is one or a few of these. Merged and ordered when made, so that the innermost loop is as long and as plain
// as the strides allow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace wootz::cpu {

class StridedCopy {
 public:
  static constexpr int kMaxDims = 20;
  struct Dim {
    int64_t extent, in, out;  // strides in elements; in may be 0 (repeat) or negative
  };

  StridedCopy() = default;
  explicit StridedCopy(int element_bytes) : bytes_(element_bytes) {}
  void add(int64_t extent, int64_t in, int64_t out) {
    if (count_ < kMaxDims) dims_[static_cast<size_t>(count_++)] = {extent, in, out};
  }
  // Elements to skip at the start of either side.
  void offset(int64_t in, int64_t out) { in_offset_ += in, out_offset_ += out; }
  // Call once after the last add().
  void prepare();
  // Threads by parallel_for. The places must not overlap.
  void run(const void* in, void* out) const;
  int64_t volume() const { return volume_; }

 private:
  enum class Inner : uint8_t { kRows, kTranspose, kStrided };
  void run_units(const char* in, char* out, int64_t begin, int64_t end) const;
  void inner_rows(const char* in, char* out, int64_t first, int64_t n) const;
  void inner_transpose(const char* in, char* out, int64_t first, int64_t n) const;
  void inner_strided(const char* in, char* out, int64_t first, int64_t n) const;

  std::array<Dim, kMaxDims> dims_{};
  int count_ = 0;
  int bytes_ = 1;
  int64_t in_offset_ = 0, out_offset_ = 0, volume_ = 1;
  Inner inner_ = Inner::kRows;
  int64_t split_ = 1, chunk_ = 1;  // the axis that is divided into units of work: units of it, elements of a unit
};

}  // namespace wootz::cpu
