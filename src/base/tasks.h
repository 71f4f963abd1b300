// Independent pieces of work of which each may take seconds, as compiling does, on all processors. Unlike the members
// of a gang (thread_pool.h) they do not run at once, take their turns as threads become free, and may have pieces of
// their own.
#pragma once

#include <cstddef>

#include "base/function_ref.h"

namespace wootz {

// Asked on the calling thread as pieces are done, with their number so far; false: no further one begins.
using GoOn = FunctionRef<bool(size_t done)>;

// task(0) ... task(count - 1), each once and in this order of beginning, on at most `threads` threads, the caller's
// included; returns when all that began are done. False: go_on said no. Called within a task, it shares the threads of
// the call that runs that task, and `threads` does not count. What a task or go_on throws (no memory) is thrown here
// once those that began are done, and no further one begins. parallel_for is serial in tasks.
bool run_tasks(size_t count, int threads, FunctionRef<void(size_t)> task, GoOn go_on);
void run_tasks(size_t count, int threads, FunctionRef<void(size_t)> task);

}  // namespace wootz
