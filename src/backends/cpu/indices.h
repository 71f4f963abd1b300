// Index operands: i32 or i64, possibly counting from the end, checked while they are read.
#pragma once

#include <atomic>
#include <cstring>

#include "base/dtype.h"
#include "base/status.h"

namespace wootz::cpu {

class IndexReader {
 public:
  IndexReader(DType type, const void* data) : wide_(type == DType::kI64), data_(static_cast<const char*>(data)) {}
  static bool readable(DType type) { return type == DType::kI32 || type == DType::kI64; }
  int64_t raw(int64_t i) const {
    if (wide_) {
      int64_t v;
      std::memcpy(&v, data_ + i * 8, 8);
      return v;
    }
    int32_t v;
    std::memcpy(&v, data_ + i * 4, 4);
    return v;
  }
  // Element i as a position on an axis of `extent` elements. Out of range: remembered, and 0 (for an empty axis nothing
  // may be read: check failed() first where extent can be 0).
  int64_t read(int64_t i, int64_t extent) {
    const int64_t v = raw(i), at = v < 0 ? v + extent : v;
    if (at >= 0 && at < extent) return at;
    int64_t none = -1;
    bad_.compare_exchange_strong(none, i);
    extent_.store(extent);
    return -1;
  }
  Status status(const char* what) const {
    const int64_t i = bad_.load();
    if (i < 0) return {};
    return invalid_argument("{}: index {} at position {} is outside [-{}, {})", what, raw(i), i, extent_.load(),
                            extent_.load());
  }

 private:
  bool wide_;
  const char* data_;
  std::atomic<int64_t> bad_{-1}, extent_{0};
};

}  // namespace wootz::cpu
