// Threads of a block as fibers on one thread of the host.
#pragma once

#include <functional>
#include <random>

namespace wootz::cuda {

struct FiberRun {
  unsigned count = 0;
  void (*enter)(unsigned) = nullptr;      // is given the thread whose turn begins
  std::mt19937* order = nullptr;          // the threads' order of each round is drawn from it; null: by their numbers
  unsigned long (*progress)() = nullptr;  // null: not asked
  bool (*stuck)() = nullptr;              // nothing goes on; true: something was done about it
};
// Runs `body` for threads 0..count-1, each on a stack of its own, turn by turn: a thread runs until it meets the
// others. False: a round went by in which no thread ended and `progress` stood still, and `stuck` did nothing about it;
// threads are left where they are.
bool run_fibers(const FiberRun& run, const std::function<void()>& body);
// Called by a thread: ends its turn; the next begins when all others had theirs.
void meet_fibers();
unsigned current_fiber();
// The stack of the running one.
std::pair<const char*, size_t> fiber_stack();

}  // namespace wootz::cuda
