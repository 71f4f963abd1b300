#include "capture.h"

#include <algorithm>
#include <unordered_set>

#include "calls.h"
#include "order.h"

namespace wootz::hostcuda {
namespace {

thread_local cudaStreamCaptureMode g_thread_mode = cudaStreamCaptureModeGlobal;

// Those that did not end, invalid ones included.
std::vector<std::shared_ptr<Capture>>& captures() {
  static auto* all = new std::vector<std::shared_ptr<Capture>>;
  return *all;
}

bool is_mode(cudaStreamCaptureMode mode) {
  return mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed;
}

void join(const std::shared_ptr<Capture>& capture, const std::shared_ptr<Queue>& queue) {
  queue->capture = capture;
  queue->tips.clear();
  capture->members.push_back(queue);
}

// Whether all that the members did last comes before what the origin did last.
bool all_joined(const Capture& capture, const Queue& origin) {
  std::unordered_set<const Node*> before;
  std::vector<std::shared_ptr<Node>> open;
  capture.graph->find(origin.tips.data(), origin.tips.size(), &open);
  while (!open.empty()) {
    const std::shared_ptr<Node> node = open.back();
    open.pop_back();
    if (!before.insert(node.get()).second) continue;
    open.insert(open.end(), node->after.begin(), node->after.end());
  }
  for (const auto& weak : capture.members) {
    const auto member = weak.lock();
    if (member == nullptr || member->capture.get() != &capture) continue;
    for (const cudaGraphNode_t tip : member->tips)
      if (const auto node = Nodes::get().find(tip); node != nullptr && !before.contains(node.get())) return false;
  }
  return true;
}

void end(const std::shared_ptr<Capture>& capture) {
  for (const auto& weak : capture->members)
    if (const auto member = weak.lock(); member != nullptr && member->capture == capture) {
      member->capture = nullptr;
      member->tips.clear();
    }
  capture->ended = true;
  std::erase(captures(), capture);
}

}  // namespace

cudaError_t capture_operation(Queue& queue, Operation operation) {
  Capture& capture = *queue.capture;
  if (!capture.valid) return cudaErrorStreamCaptureInvalidated;
  std::vector<std::shared_ptr<Node>> after;
  capture.graph->find(queue.tips.data(), queue.tips.size(), &after);
  queue.tips = {capture.graph->add(std::move(operation), std::move(after))->handle};
  return cudaSuccess;
}

cudaError_t invalidate(const std::shared_ptr<Capture>& capture, cudaError_t error) {
  if (!capture->valid) return cudaErrorStreamCaptureInvalidated;
  capture->valid = false;
  return error;
}

std::shared_ptr<Capture> leave_capture(const std::shared_ptr<Queue>& queue) {
  std::shared_ptr<Capture> capture = queue->capture;
  if (capture == nullptr) return nullptr;
  invalidate(capture, cudaErrorStreamCaptureInvalidated);
  if (capture->origin.lock() == queue) {
    end(capture);
    Graphs::get().take(capture->handle);
  }
  return capture;
}

cudaError_t join_capture(const std::shared_ptr<Queue>& queue, const Mark& mark) {
  const std::shared_ptr<Capture> capture = mark.capture.lock();
  if (capture == nullptr || capture->ended) return cudaErrorCapturedEvent;
  if (!capture->valid) return cudaErrorStreamCaptureInvalidated;
  if (queue->capture != nullptr && queue->capture != capture) {
    invalidate(queue->capture, cudaErrorStreamCaptureMerge);
    return invalidate(capture, cudaErrorStreamCaptureMerge);
  }
  if (queue == legacy_queue()) return invalidate(capture, cudaErrorStreamCaptureImplicit);
  if (queue->capture == nullptr) join(capture, queue);
  for (const cudaGraphNode_t node : mark.nodes)
    if (std::find(queue->tips.begin(), queue->tips.end(), node) == queue->tips.end()) queue->tips.push_back(node);
  return cudaSuccess;
}

cudaError_t check_default_stream(const std::shared_ptr<Queue>& queue) {
  if (queue != legacy_queue()) return cudaSuccess;
  for (const auto& capture : captures())
    for (const auto& weak : capture->members) {
      const auto member = weak.lock();
      if (member != nullptr && member->capture == capture && member->blocking())
        return invalidate(capture, cudaErrorStreamCaptureImplicit);
    }
  return cudaSuccess;
}

cudaError_t check_unsafe_call() {
  if (Queue::current() != nullptr || g_thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  const std::lock_guard<std::mutex> lock(order());
  cudaError_t error = cudaSuccess;
  for (const auto& capture : captures()) {
    const bool own = capture->thread == std::this_thread::get_id();
    const bool refused =
        own ? capture->mode != cudaStreamCaptureModeRelaxed
            : capture->mode == cudaStreamCaptureModeGlobal && g_thread_mode == cudaStreamCaptureModeGlobal;
    if (refused) {
      capture->valid = false;
      error = cudaErrorStreamCaptureUnsupported;
    }
  }
  return error;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (!is_mode(mode)) return cudaErrorInvalidValue;
  const auto queue = queue_of(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  if (queue == legacy_queue()) return cudaErrorStreamCaptureUnsupported;
  if (Queue::current() != nullptr) return cudaErrorNotPermitted;
  static uint64_t count = 0;
  const std::lock_guard<std::mutex> lock(order());
  if (queue->capture != nullptr) return cudaErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->id = ++count;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = queue;
  capture->graph = std::make_shared<Graph>();
  capture->handle = Graphs::get().add(capture->graph);
  join(capture, queue);
  captures().push_back(capture);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  *graph = nullptr;
  const auto queue = queue_of(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  std::shared_ptr<Capture> capture;  // ends after the lock does, with what its graph keeps
  const std::lock_guard<std::mutex> lock(order());
  capture = queue->capture;
  if (capture == nullptr) return cudaErrorIllegalState;
  if (capture->origin.lock() != queue) return invalidate(capture, cudaErrorStreamCaptureUnmatched);
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    return cudaErrorStreamCaptureWrongThread;
  cudaError_t error = capture->valid ? cudaSuccess : cudaErrorStreamCaptureInvalidated;
  if (error == cudaSuccess && !all_joined(*capture, *queue)) error = cudaErrorStreamCaptureUnjoined;
  end(capture);
  if (error == cudaSuccess)
    *graph = capture->handle;
  else
    Graphs::get().take(capture->handle);
  return error;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return captureInfo11(stream, status, nullptr);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return captureInfo12(stream, status, id, graph, nodes, count);
}

cudaError_t captureInfo12(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                          cudaGraph_t* graph, const cudaGraphNode_t** nodes, size_t* count) {
  if (status == nullptr) return cudaErrorInvalidValue;
  const auto queue = queue_of(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  const std::lock_guard<std::mutex> lock(order());
  // The default stream cannot be asked while a stream that it waits for is captured.
  if (const cudaError_t error = check_default_stream(queue); error != cudaSuccess) return error;
  const Capture* const capture = queue->capture.get();
  *status = cudaStreamCaptureStatusNone;
  if (capture == nullptr) return cudaSuccess;
  *status = capture->valid ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated;
  if (!capture->valid) return cudaSuccess;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = capture->handle;
  if (nodes != nullptr) *nodes = queue->tips.data();
  if (count != nullptr) *count = queue->tips.size();
  return cudaSuccess;
}

cudaError_t captureInfo11(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id) {
  return captureInfo12(stream, status, id, nullptr, nullptr, nullptr);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (mode == nullptr || !is_mode(*mode)) return cudaErrorInvalidValue;
  std::swap(*mode, g_thread_mode);
  return cudaSuccess;
}

}  // namespace wootz::hostcuda
