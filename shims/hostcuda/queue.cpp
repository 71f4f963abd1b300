#include "queue.h"

#include <chrono>
#include <thread>
#include <utility>

namespace wootz::hostcuda {
namespace {

thread_local Queue* g_current = nullptr;

uint64_t next_id() {
  static std::atomic<uint64_t> count{2};  // 1 and 2 are numbers of default streams
  return ++count;
}

}  // namespace

bool Point::done() const { return queue == nullptr || queue->done(number); }

void Point::wait() const {
  if (queue != nullptr) queue->wait(number);
}

void Mark::reached() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

Queue::Queue(unsigned with_flags, int with_priority) : flags(with_flags), priority(with_priority), id(next_id()) {}

Queue* Queue::current() { return g_current; }

uint64_t Queue::push(Operation operation, std::vector<Point> waits) {
  uint64_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    items_.push_back({std::move(operation), std::move(waits)});
    number = pushed_ + 1;
    if (!started_) {
      try {
        std::thread([self = shared_from_this()] { self->work(); }).detach();
      } catch (...) {
        items_.pop_back();
        throw;
      }
      started_ = true;
    }
    pushed_ = number;
  }
  wake_.notify_one();
  return number;
}

void Queue::finish() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
}

void Queue::wait(uint64_t number) {
  if (done(number)) return;
  std::unique_lock<std::mutex> lock(mutex_);
  finished_.wait(lock, [&] { return done(number); });
}

void Queue::fail() {
  uint64_t none = 0;
  failed_.compare_exchange_strong(none, done_.load() + 1);
}

cudaError_t Queue::take_failure(uint64_t number) {
  uint64_t failed = failed_.load();
  const bool told = failed != 0 && failed <= number && failed_.compare_exchange_strong(failed, 0);
  return told ? cudaErrorLaunchFailure : cudaSuccess;
}

void Queue::work() {
  g_current = this;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return ending_ || !items_.empty(); });
    if (items_.empty()) return;
    Item item = std::move(items_.front());
    items_.pop_front();
    lock.unlock();
    for (const Point& point : item.waits) point.wait();
    run(item.operation);
    item = {};  // what it kept is free before anybody sees it done
    lock.lock();
    done_.fetch_add(1, std::memory_order_release);
    finished_.notify_all();
  }
}

}  // namespace wootz::hostcuda
