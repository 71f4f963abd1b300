// The process's one pool of threads. Our kernels, oneDNN's parallel regions (shims/omp) and everything else that
// computes on the CPU take their threads from here, so that no two pools spin against each other.
//
//   ActiveScope active;              // an inference runs: workers may wait for the next gang by spinning
//   ParallelScope threads(4);        // what this calling thread may use
//   parallel_for(rows, 16, [&](int64_t begin, int64_t end) { ... });
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/function_ref.h"
#include "base/status.h"

namespace wootz {

struct ThreadPoolOptions {
  int threads = 0;            // callers included; 0: one for each CPU in the process's affinity mask
  std::vector<int> affinity;  // CPU of worker i (i = 1, 2, ...) is affinity[i % size]; empty: the kernel decides
  int spin_us = 200;          // how long an idle worker spins for the next gang while an ActiveScope lives
};

class ThreadPool {
 public:
  static ThreadPool& process();

  // Waits for a running gang, ends the workers and starts anew. Errors: called from inside a gang, a bad number.
  Status configure(const ThreadPoolOptions& options);
  int size() const;  // threads, callers included

  // Runs f(index, n) for index 0..n-1, each with a thread of its own (they may wait for each other), and returns when
  // all are done. The caller does index 0, and then those that their threads have not begun, so that it does not wait
  // for threads that get no processor. One gang at a time in the process: a second caller waits. n may exceed size():
  // workers are added. From inside a gang, and where threads cannot be made, it is f(0, 1): f goes by the n it is
  // given. f must not throw.
  void run(int n, FunctionRef<void(int index, int n)> f);

  // run() in two halves for fork-join interfaces: start() lets the workers go and returns the real n (1: nothing was
  // started); the caller then does index 0 itself and must call finish(n) on the same thread, which may do others.
  using RawFn = void (*)(void* context, int index, int n);
  int start(int n, RawFn f, void* context);
  void finish(int n);

  // Is this thread now part of a gang (the caller of run() included)?
  static bool in_gang();

  class Impl;

 private:
  ThreadPool();
  ~ThreadPool();
  Impl* impl_;
};

// While one of these lives and for 100 us after the last, idle workers spin (bounded) instead of sleeping. Otherwise
// the pool uses no CPU time at all.
class ActiveScope {
 public:
  ActiveScope();
  ~ActiveScope();
  ActiveScope(const ActiveScope&) = delete;
  ActiveScope& operator=(const ActiveScope&) = delete;
};

// Limits the calling thread's parallelism: parallel_for here, and oneDNN's regions. Libraries that size their scratch
// memory by the number of threads must be created and run under equal limits.
class ParallelScope {
 public:
  explicit ParallelScope(int threads);  // < 1: the pool's size
  ~ParallelScope();
  ParallelScope(const ParallelScope&) = delete;
  ParallelScope& operator=(const ParallelScope&) = delete;

 private:
  int saved_;
};
// The limit of the calling thread: the innermost ParallelScope, else the pool's size; 1 inside a gang.
int max_parallelism();

// f(begin, end) over a static partition of [0, total) into at most max_parallelism() contiguous pieces of at least
// `grain` elements each: which piece an element is in depends on the three numbers only, never on timing.
void parallel_for(int64_t total, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> f);
// The number of pieces that parallel_for would make, and the first element of a piece.
int parallel_pieces(int64_t total, int64_t grain);
inline int64_t piece_begin(int64_t total, int pieces, int piece) {
  const int64_t base = total / pieces, extra = total % pieces;
  return base * piece + (piece < extra ? piece : extra);
}

}  // namespace wootz
