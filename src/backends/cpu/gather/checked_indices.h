// Indices of a gather, and the first one that is outside.
#pragma once

#include <atomic>

#include "base/status.h"

namespace wootz::cpu {

// Indices of either type, with their range checked.
struct Indices {
  const void* data = nullptr;
  bool wide = true;
  int64_t raw(int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

// The first index found outside its axis, if any; threads may race for which one.
class Fault {
 public:
  bool check(int64_t* index, int64_t extent, int64_t at) {
    if (*index < 0) *index += extent;
    if (*index >= 0 && *index < extent) [[likely]]
      return true;
    if (!set_.exchange(true)) {
      index_ = *index < 0 ? *index - extent : *index;
      extent_ = extent;
      at_ = at;
    }
    return false;
  }
  Status status() const {
    if (!set_.load()) return {};
    return invalid_argument("index {} (element {} of the indices) is outside an axis of {} elements", index_, at_,
                            extent_);
  }

 private:
  std::atomic<bool> set_{false};
  int64_t index_ = 0, extent_ = 0, at_ = 0;
};

}  // namespace wootz::cpu
