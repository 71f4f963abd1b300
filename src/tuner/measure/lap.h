// Time that passes, by a RunTimer's clock.
#pragma once

#include "tuner/measure/run_timer.h"

namespace wootz {

// Adds what passes until it ends.
class Lap {
 public:
  Lap(RunTimer& timer, double* us) : timer_(timer), us_(us), start_(timer.now_us()) {}
  ~Lap() { *us_ += timer_.now_us() - start_; }
  Lap(const Lap&) = delete;
  Lap& operator=(const Lap&) = delete;

 private:
  RunTimer& timer_;
  double* us_;
  double start_;
};

}  // namespace wootz
