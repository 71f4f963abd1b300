// Tells tools what the host does while an object of this lives.
#pragma once

#include "backend/device.h"

namespace wootz {

class Range {
 public:
  Range(const RangeHooks* hooks, const char* name) : hooks_(hooks) {
    if (hooks_ != nullptr) hooks_->begin(name);
  }
  ~Range() {
    if (hooks_ != nullptr) hooks_->end();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  const RangeHooks* hooks_;
};

}  // namespace wootz
