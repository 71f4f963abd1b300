// The heap of the whole process: what is taken between two points, what lives, and allocations that fail on purpose.
// Does nothing under a sanitizer, which has a malloc of its own.
#pragma once

namespace wootz_test {
void count_allocations();    // from here
long allocations_counted();  // to here; until the next count_allocations()

// Blocks that are not freed.
long live_allocations();

// Allocation number `first` from here, counted from 1, gives null, and so do the following up to `last`. 0: none does.
// Not those of oneDNN, which reads through null where the system gives it no memory.
void fail_allocations(long first, long last);
long allocations_failed();  // since fail_allocations()

// A test's own allocations, in this thread and while this lives: neither counted nor made to fail.
class OwnAllocations {
 public:
  OwnAllocations();
  ~OwnAllocations();
  OwnAllocations(const OwnAllocations&) = delete;
  OwnAllocations& operator=(const OwnAllocations&) = delete;
};
}  // namespace wootz_test
