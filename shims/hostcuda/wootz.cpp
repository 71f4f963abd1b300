// What libwootz finds here: inferences as work in streams.
#include "api/runtime/hostcuda_contract.h"
#include "calls.h"
#include "capture.h"
#include "order.h"

namespace wootz::hostcuda {
namespace {

// Where `put` fails, the work stays the caller's.
template <typename Put>
int keep_work(void* stream, const wootz_hostcuda_work* work, Put put) {
  const auto queue = queue_of(static_cast<cudaStream_t>(stream));
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  SharedWork shared;
  cudaError_t error = cudaErrorMemoryAllocation;
  try {
    shared = std::make_shared<Work>(*work);
    error = put(queue, shared);
  } catch (...) {
  }
  if (error != cudaSuccess && shared != nullptr) shared->work.release = [](void*) {};
  return error;
}

int enqueue(void* stream, const wootz_hostcuda_work* work) {
  return keep_work(stream, work, [](const auto& queue, const SharedWork& shared) {
    if (within(queue)) {
      run(shared);
      return cudaSuccess;
    }
    const std::lock_guard<std::mutex> lock(order());
    if (queue->capture != nullptr) return cudaErrorStreamCaptureUnsupported;
    const cudaError_t error = check_default_stream(queue);
    if (error == cudaSuccess) submit_now(queue, shared);
    return error;
  });
}

int capturing(void* stream) {
  const auto queue = queue_of(static_cast<cudaStream_t>(stream));
  if (queue == nullptr || within(queue)) return 0;
  const std::lock_guard<std::mutex> lock(order());
  return queue->capture != nullptr ? 1 : 0;
}

int capture(void* stream, const wootz_hostcuda_work* work) {
  return keep_work(stream, work, [](const auto& queue, const SharedWork& shared) {
    const std::lock_guard<std::mutex> lock(order());
    return queue->capture == nullptr ? cudaErrorIllegalState : capture_operation(*queue, shared);
  });
}

int synchronize_stream(void* stream) { return cudaStreamSynchronize(static_cast<cudaStream_t>(stream)); }

}  // namespace
}  // namespace wootz::hostcuda

extern "C" __attribute__((visibility("default"))) const wootz_hostcuda_table wootz_hostcuda_v2 = {
    sizeof(wootz_hostcuda_table), wootz::hostcuda::enqueue, wootz::hostcuda::capturing, wootz::hostcuda::capture,
    wootz::hostcuda::synchronize_stream};
