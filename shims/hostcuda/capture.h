// Streams that are captured: what is put into them becomes nodes of a graph. order() is held in all of these.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "graph.h"
#include "queue.h"

namespace wootz::hostcuda {

struct Capture {
  uint64_t id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  std::weak_ptr<Queue> origin;                // where it began, and must end
  std::vector<std::weak_ptr<Queue>> members;  // and those that joined by events
  std::shared_ptr<Graph> graph;
  cudaGraph_t handle = nullptr;
  bool valid = true, ended = false;
};

// Adds an operation after what the stream's last one was.
cudaError_t capture_operation(Queue& queue, Operation operation);

// The capture fails from now on. Gives `error`.
cudaError_t invalidate(const std::shared_ptr<Capture>& capture, cudaError_t error);

// A stream ends: its capture fails, and where it began there it is over, since nothing can end it any more. What is
// given back goes when order() is free.
std::shared_ptr<Capture> leave_capture(const std::shared_ptr<Queue>& queue);

// A stream waits for an event that was recorded in a capture: it becomes part of it.
cudaError_t join_capture(const std::shared_ptr<Queue>& queue, const Mark& mark);

// The default stream waits for blocking streams, which none of them that is captured allows.
cudaError_t check_default_stream(const std::shared_ptr<Queue>& queue);

// Calls that wait, or take memory, are refused while captures that are not relaxed go on. order() is not held.
cudaError_t check_unsafe_call();

}  // namespace wootz::hostcuda
