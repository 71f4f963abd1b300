// A stream's queue: a thread, made when there is something to do, that runs operations in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "operation.h"

namespace wootz::hostcuda {

class Queue;
struct Capture;

// A place in a queue: done when everything up to it is. Without a queue: done.
struct Point {
  std::shared_ptr<Queue> queue;
  uint64_t number = 0;
  bool done() const;
  void wait() const;
};

// What an event stands for since it was last recorded.
struct Mark {
  Point point;
  std::atomic<int64_t> nanoseconds{0};  // since some moment; of use when the point is done
  // Recorded in a capture: the nodes that it comes after.
  std::weak_ptr<Capture> capture;
  bool captured = false;
  std::vector<cudaGraphNode_t> nodes;
  void reached();  // now
};

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  Queue(unsigned flags, int priority);

  // What an operation waits for, beside those before it.
  uint64_t push(Operation operation, std::vector<Point> waits);
  void finish();  // the thread ends when all is done
  bool idle() const { return pushed() == done_.load(std::memory_order_acquire); }
  bool done(uint64_t number) const { return done_.load(std::memory_order_acquire) >= number; }
  void wait(uint64_t number);
  // Its thread: the operation at hand failed. take_failure() tells of it once, to who has waited for `number`.
  void fail();
  cudaError_t take_failure(uint64_t number);
  uint64_t pushed() const { return pushed_.load(std::memory_order_relaxed); }
  Point last() { return {shared_from_this(), pushed()}; }

  bool blocking() const { return (flags & cudaStreamNonBlocking) == 0; }
  // The queue whose operation the calling thread is running; null: none.
  static Queue* current();

  const unsigned flags;
  const int priority;
  const uint64_t id;
  // Guarded by order().
  std::shared_ptr<Capture> capture;
  std::vector<cudaGraphNode_t> tips;  // what the next captured operation comes after

 private:
  struct Item {
    Operation operation;
    std::vector<Point> waits;
  };
  void work();

  mutable std::mutex mutex_;
  std::condition_variable wake_, finished_;
  std::deque<Item> items_;
  std::atomic<uint64_t> pushed_{0}, done_{0}, failed_{0};  // failed_: the first of which nobody was told; 0: none
  bool started_ = false, ending_ = false;
};

}  // namespace wootz::hostcuda
