// How far long work is, told while it runs; and the way to cancel it.
#pragma once

#include "base/status.h"

namespace wootz {

class Progress {
 public:
  virtual ~Progress() = default;
  virtual void start(const char* phase, const char* parent, int steps) = 0;  // parent: null for the outermost
  virtual bool step(const char* phase, int number) = 0;                      // false: cancel
  virtual void finish(const char* phase) = 0;
};

// One phase, which ends with its scope. Without a Progress it does nothing.
class ProgressPhase {
 public:
  ProgressPhase(Progress* progress, const char* name, const char* parent, int steps)
      : progress_(progress), name_(name) {
    if (progress_ != nullptr) progress_->start(name, parent, steps);
  }
  ~ProgressPhase() {
    if (progress_ != nullptr) progress_->finish(name_);
  }
  ProgressPhase(const ProgressPhase&) = delete;
  ProgressPhase& operator=(const ProgressPhase&) = delete;

  // False once the work is cancelled.
  bool step(int number) {
    if (progress_ != nullptr && !progress_->step(name_, number)) cancelled_ = true;
    return !cancelled_;
  }
  // An error of Code::kCancelled once the work is cancelled.
  Status status() const {
    return cancelled_ ? make_error(Code::kCancelled, "the progress monitor stopped the build in phase '{}'", name_)
                      : Status();
  }

 private:
  Progress* progress_;
  const char* name_;
  bool cancelled_ = false;
};

}  // namespace wootz
