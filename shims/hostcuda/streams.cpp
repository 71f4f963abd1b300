// Streams, and host functions in them.
#include <algorithm>

#include "calls.h"
#include "capture.h"
#include "order.h"

namespace wootz::hostcuda {
namespace {

constexpr int kLeastPriority = 0, kGreatestPriority = -5;

// `use` of the stream of a handle.
template <typename Use>
cudaError_t with_stream(cudaStream_t stream, Use use) {
  const auto queue = queue_of(stream);
  return queue == nullptr ? cudaErrorInvalidResourceHandle : use(queue);
}

template <typename T, typename Get>
cudaError_t ask(cudaStream_t stream, T* value, Get get) {
  if (value == nullptr) return cudaErrorInvalidValue;
  return with_stream(stream, [&](const auto& queue) {
    *value = get(*queue);
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = kLeastPriority;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0) return cudaErrorInvalidValue;
  const auto queue = std::make_shared<Queue>(flags, std::clamp(priority, kGreatestPriority, kLeastPriority));
  add_queue(queue);
  *stream = Streams::get().add(queue);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const auto queue = Streams::get().take(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  end_queue(queue);
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return ask(stream, priority, [](const Queue& queue) { return queue.priority; });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return ask(stream, flags, [](const Queue& queue) { return queue.flags; });
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return ask(stream, id, [](const Queue& queue) { return queue.id; });
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return ask(stream, device, [](const Queue&) { return 0; });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return with_stream(stream, [](const auto& queue) { return synchronize(queue); });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return with_stream(stream, [](const auto& queue) { return query(queue); });
}

cudaError_t cudaDeviceSynchronize() {
  if (const cudaError_t error = check_unsafe_call(); error != cudaSuccess) return error;
  return synchronize_all();
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (function == nullptr) return cudaErrorInvalidValue;
  return with_stream(stream, [&](const auto& queue) { return submit(queue, HostCall{function, data}); });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags) {
  if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
  return with_stream(stream, [&](const auto& queue) {
    {
      const std::lock_guard<std::mutex> lock(order());
      if (queue->capture != nullptr) return invalidate(queue->capture, cudaErrorStreamCaptureUnsupported);
    }
    return submit(queue, Callback{callback, stream, data});
  });
}

}  // namespace wootz::hostcuda
