#include "order.h"

#include <algorithm>

#include "calls.h"
#include "capture.h"

namespace wootz::hostcuda {
namespace {

std::vector<std::weak_ptr<Queue>>& all_queues() {
  static auto* all = new std::vector<std::weak_ptr<Queue>>;
  return *all;
}

// A thread's own default stream ends with the thread.
struct OwnQueue {
  std::shared_ptr<Queue> queue;
  ~OwnQueue() {
    if (queue != nullptr) end_queue(queue);
  }
  const std::shared_ptr<Queue>& get() {
    if (queue == nullptr) {
      queue = std::make_shared<Queue>(cudaStreamDefault, 0);
      add_queue(queue);
    }
    return queue;
  }
};

// What an operation that is put into a stream now waits for. order() is held.
std::vector<Point> dependences(const std::shared_ptr<Queue>& queue) {
  std::vector<Point> waits;
  if (!queue->blocking()) return waits;
  const auto add = [&](const std::shared_ptr<Queue>& other) {
    if (other != queue && !other->idle()) waits.push_back(other->last());
  };
  if (queue != legacy_queue()) {
    add(legacy_queue());
    return waits;
  }
  for (const auto& other : live_queues())
    if (other->blocking()) add(other);
  return waits;
}

}  // namespace

std::mutex& order() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::shared_ptr<Queue> legacy_queue() {
  static auto* legacy = new std::shared_ptr<Queue>(std::make_shared<Queue>(cudaStreamDefault, 0));
  return *legacy;
}

std::shared_ptr<Queue> queue_of(cudaStream_t stream) {
  thread_local OwnQueue own;
  if (stream == cudaStreamPerThread || (stream == nullptr && null_is_own_stream())) return own.get();
  if (stream == cudaStreamLegacy || stream == nullptr) return legacy_queue();
  return Streams::get().find(stream);
}

void add_queue(const std::shared_ptr<Queue>& queue) {
  const std::lock_guard<std::mutex> lock(order());
  std::erase_if(all_queues(), [](const auto& other) { return other.expired(); });
  all_queues().push_back(queue);
}

void end_queue(const std::shared_ptr<Queue>& queue) {
  {
    std::shared_ptr<Capture> capture;  // ends after the lock does
    const std::lock_guard<std::mutex> lock(order());
    capture = leave_capture(queue);
  }
  queue->finish();
}

std::vector<std::shared_ptr<Queue>> live_queues() {
  std::vector<std::shared_ptr<Queue>> live{legacy_queue()};
  for (const auto& weak : all_queues())
    if (auto queue = weak.lock()) live.push_back(std::move(queue));
  return live;
}

bool within(const std::shared_ptr<Queue>& queue) {
  const Queue* const current = Queue::current();
  return current != nullptr && (queue.get() == current || queue == legacy_queue());
}

Point submit_now(const std::shared_ptr<Queue>& queue, Operation operation, std::vector<Point> waits) {
  for (Point& point : dependences(queue)) waits.push_back(std::move(point));
  const uint64_t number = queue->push(std::move(operation), std::move(waits));
  return {queue, number};
}

cudaError_t submit(const std::shared_ptr<Queue>& queue, Operation operation) {
  if (within(queue)) {
    run(operation);
    return cudaSuccess;
  }
  const std::lock_guard<std::mutex> lock(order());
  if (queue->capture != nullptr) return capture_operation(*queue, std::move(operation));
  if (const cudaError_t error = check_default_stream(queue); error != cudaSuccess) return error;
  submit_now(queue, std::move(operation));
  return cudaSuccess;
}

namespace {
// The first error, when all are done.
cudaError_t wait_for_all(const std::vector<Point>& points) {
  cudaError_t first = cudaSuccess;
  for (const Point& point : points)
    if (const cudaError_t error = wait_for(point); first == cudaSuccess) first = error;
  return first;
}
}  // namespace

cudaError_t synchronize(const std::shared_ptr<Queue>& queue, const std::function<void()>& work) {
  if (!within(queue)) {
    std::vector<Point> points;
    {
      const std::lock_guard<std::mutex> lock(order());
      if (queue->capture != nullptr) return invalidate(queue->capture, cudaErrorStreamCaptureUnsupported);
      if (const cudaError_t error = check_default_stream(queue); error != cudaSuccess) return error;
      points = dependences(queue);
      points.push_back(queue->last());
    }
    if (const cudaError_t error = wait_for_all(points); error != cudaSuccess) return error;
  }
  if (work) work();
  return cudaSuccess;
}

cudaError_t query(const std::shared_ptr<Queue>& queue) {
  if (within(queue)) return cudaSuccess;
  const std::lock_guard<std::mutex> lock(order());
  if (queue->capture != nullptr) return invalidate(queue->capture, cudaErrorStreamCaptureUnsupported);
  if (const cudaError_t error = check_default_stream(queue); error != cudaSuccess) return error;
  const bool waits = queue == legacy_queue() && !dependences(queue).empty();
  return queue->idle() && !waits ? queue->take_failure(queue->pushed()) : cudaErrorNotReady;
}

cudaError_t synchronize_all() {
  std::vector<Point> points;
  {
    const std::lock_guard<std::mutex> lock(order());
    for (const auto& queue : live_queues()) points.push_back(queue->last());
  }
  return wait_for_all(points);
}

cudaError_t wait_for(const Point& point) {
  if (!point.done()) {
    if (Queue::current() != nullptr) return cudaErrorNotPermitted;
    point.wait();
  }
  return point.queue == nullptr ? cudaSuccess : point.queue->take_failure(point.number);
}

}  // namespace wootz::hostcuda
