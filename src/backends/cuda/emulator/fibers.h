// Threads of a block as fibers on one thread of the host.
#pragma once

#include <functional>

namespace wootz::cuda {

// Runs `body` for threads 0..count-1, each on a stack of its own, turn by turn: a thread runs until it meets the
// others. `enter` is given the thread whose turn begins.
void run_fibers(unsigned count, void (*enter)(unsigned), const std::function<void()>& body);
// Called by a thread: ends its turn; the next begins when all others had theirs.
void meet_fibers();

}  // namespace wootz::cuda
