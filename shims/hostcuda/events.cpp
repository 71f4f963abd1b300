// Events.
#include "event.h"

#include "calls.h"
#include "capture.h"
#include "order.h"

namespace wootz::hostcuda {
namespace {

// order() is held.
void record(const std::shared_ptr<Event>& event, const std::shared_ptr<Queue>& queue) {
  auto mark = std::make_shared<Mark>();
  if (queue->capture != nullptr) {
    mark->captured = true;
    mark->capture = queue->capture;
    mark->nodes = queue->tips;
  } else {
    mark->point = submit_now(queue, MarkTime{mark});
  }
  event->set(std::move(mark));
}

cudaError_t record_within(const std::shared_ptr<Event>& event) {
  auto mark = std::make_shared<Mark>();
  mark->reached();
  event->set(std::move(mark));
  return cudaSuccess;
}

// What the host asks of an event: of what was captured there is nothing to know.
cudaError_t check_captured(const Mark& mark) {
  if (!mark.captured) return cudaSuccess;
  const std::lock_guard<std::mutex> lock(order());
  if (const auto capture = mark.capture.lock(); capture != nullptr && !capture->ended)
    invalidate(capture, cudaErrorCapturedEvent);
  return cudaErrorCapturedEvent;
}

}  // namespace

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  if (event == nullptr || (flags & ~kKnown) != 0) return cudaErrorInvalidValue;
  if ((flags & cudaEventInterprocess) != 0)
    return (flags & cudaEventDisableTiming) != 0 ? cudaErrorNotSupported : cudaErrorInvalidValue;
  *event = Events::get().add(std::make_shared<Event>(flags));
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return Events::get().take(event) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  if ((flags & ~unsigned{cudaEventRecordExternal}) != 0) return cudaErrorInvalidValue;
  const auto queue = queue_of(stream);
  const auto found = Events::get().find(event);
  if (queue == nullptr || found == nullptr) return cudaErrorInvalidResourceHandle;
  if (within(queue)) return record_within(found);
  const std::lock_guard<std::mutex> lock(order());
  if (queue->capture != nullptr && !queue->capture->valid) return cudaErrorStreamCaptureInvalidated;
  if (const cudaError_t error = check_default_stream(queue); error != cudaSuccess) return error;
  if (flags == cudaEventRecordExternal) {
    if (queue->capture == nullptr) return cudaErrorIllegalState;
    return capture_operation(*queue, RecordNode{found});
  }
  record(found, queue);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  if ((flags & ~unsigned{cudaEventWaitExternal}) != 0) return cudaErrorInvalidValue;
  const auto queue = queue_of(stream);
  const auto found = Events::get().find(event);
  if (queue == nullptr || found == nullptr) return cudaErrorInvalidResourceHandle;
  const std::shared_ptr<Mark> mark = found->last();
  if (within(queue)) return mark == nullptr ? cudaSuccess : wait_for(mark->point);
  const std::lock_guard<std::mutex> lock(order());
  if (queue->capture != nullptr && !queue->capture->valid) return cudaErrorStreamCaptureInvalidated;
  if (flags == cudaEventWaitExternal) {
    if (queue->capture == nullptr) return cudaErrorIllegalState;
    return capture_operation(*queue, WaitNode{found});
  }
  if (mark == nullptr) return cudaSuccess;
  if (mark->captured) return join_capture(queue, *mark);
  if (queue->capture != nullptr) return invalidate(queue->capture, cudaErrorStreamCaptureIsolation);
  if (const cudaError_t error = check_default_stream(queue); error != cudaSuccess) return error;
  if (!mark->point.done()) submit_now(queue, Nothing(), {mark->point});
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const auto found = Events::get().find(event);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  const std::shared_ptr<Mark> mark = found->last();
  if (mark == nullptr) return cudaSuccess;
  if (const cudaError_t error = check_captured(*mark); error != cudaSuccess) return error;
  return mark->point.done() ? wait_for(mark->point) : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const auto found = Events::get().find(event);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  const std::shared_ptr<Mark> mark = found->last();
  if (mark == nullptr) return cudaSuccess;
  if (const cudaError_t error = check_captured(*mark); error != cudaSuccess) return error;
  return wait_for(mark->point);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  if (milliseconds == nullptr) return cudaErrorInvalidValue;
  std::shared_ptr<Mark> marks[2];
  for (int i = 0; i < 2; ++i) {
    const auto found = Events::get().find(i == 0 ? from : to);
    if (found == nullptr || (found->flags & cudaEventDisableTiming) != 0) return cudaErrorInvalidResourceHandle;
    marks[i] = found->last();
    if (marks[i] == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = check_captured(*marks[i]); error != cudaSuccess) return error;
  }
  if (!marks[0]->point.done() || !marks[1]->point.done()) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(static_cast<double>(marks[1]->nanoseconds - marks[0]->nanoseconds) * 1e-6);
  return cudaSuccess;
}

}  // namespace wootz::hostcuda
