#include "backends/cuda/emulator/streams.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <random>

namespace wootz::cuda {
namespace {

struct Node {
  Work work;
  std::vector<size_t> after;  // nodes that have ended before
};
struct Graph {
  std::vector<Node> nodes;
  std::vector<size_t> order;  // of an executable one: one of those that the nodes allow
};
struct FakeStream;
struct Capture {
  Graph graph;
  std::vector<FakeStream*> members;  // the one it began on, and those that waited for it
};
struct FakeStream {
  int device = 0;
  std::shared_ptr<Capture> capture;  // null: not being captured
  std::vector<size_t> tails;         // what the next node comes after
};
struct FakeEvent {
  using Clock = std::chrono::steady_clock;
  int device = 0;
  bool tells_time = true, recorded = false;
  Clock::time_point at;  // work is done when it is put on a stream: so is what an event is recorded after
  std::weak_ptr<Capture> capture;
  bool captured = false;
  std::vector<size_t> tails;
};

// A default stream is the current device's; null: there is no current device.
FakeStream* of(CUstream stream) {
  static std::array<FakeStream, kMostEmulated>& legacy = *[] {
    auto* const all = new std::array<FakeStream, kMostEmulated>;
    for (size_t d = 0; d < all->size(); ++d) (*all)[d].device = static_cast<int>(d);
    return all;
  }();
  if (stream != nullptr) return reinterpret_cast<FakeStream*>(stream);
  const int device = current_emulated();
  return device == kNoDevice ? nullptr : &legacy[static_cast<size_t>(device)];
}
// Work of several threads is done one after the other.
std::recursive_mutex g_work;
FakeEvent& of(CUevent event) { return *reinterpret_cast<FakeEvent*>(event); }
Graph& of(CUgraph graph) { return *reinterpret_cast<Graph*>(graph); }
Graph& of(CUgraphExec exec) { return *reinterpret_cast<Graph*>(exec); }

void append(FakeStream& stream, Work work, std::vector<size_t> after) {
  stream.capture->graph.nodes.push_back({std::move(work), std::move(after)});
  stream.tails = {stream.capture->graph.nodes.size() - 1};
}

void merge(std::vector<size_t>& into, const std::vector<size_t>& more) {
  for (const size_t node : more)
    if (std::find(into.begin(), into.end(), node) == into.end()) into.push_back(node);
}

// A GPU ends what is not ordered in any order: so does this.
void put_in_order(Graph& graph) {
  static std::mt19937 random(7);
  const std::lock_guard<std::recursive_mutex> lock(g_work);
  graph.order.clear();
  std::vector<size_t> missing(graph.nodes.size()), ready;
  std::vector<std::vector<size_t>> before(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    missing[n] = graph.nodes[n].after.size();
    for (const size_t other : graph.nodes[n].after) before[other].push_back(n);
    if (missing[n] == 0) ready.push_back(n);
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const size_t n = ready.back();
    ready.pop_back();
    graph.order.push_back(n);
    for (const size_t next : before[n])
      if (--missing[next] == 0) ready.push_back(next);
  }
}

}  // namespace

CUresult put_work(CUstream stream, Work work) {
  FakeStream* const on = of(stream);
  if (on == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (work.device != kNoDevice && work.device != on->device) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard<std::recursive_mutex> lock(g_work);
  if (on->capture == nullptr) return work.run();
  append(*on, std::move(work), on->tails);
  return CUDA_SUCCESS;
}

CUresult refuse_in_capture(CUstream stream) {
  const FakeStream* const on = of(stream);
  if (on == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return on->capture == nullptr ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult emulator_stream_create(CUstream* stream, unsigned) {
  if (current_emulated() == kNoDevice) return CUDA_ERROR_INVALID_CONTEXT;
  auto* const made = new FakeStream;
  made->device = current_emulated();
  return *stream = reinterpret_cast<CUstream>(made), CUDA_SUCCESS;
}
CUresult emulator_stream_destroy(CUstream stream) {
  delete reinterpret_cast<FakeStream*>(stream);
  return CUDA_SUCCESS;
}
CUresult emulator_stream_context(CUstream stream, CUcontext* context) {
  const FakeStream* const on = of(stream);
  if (on == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return *context = emulator_context(on->device), CUDA_SUCCESS;
}
CUresult emulator_is_capturing(CUstream stream, CUstreamCaptureStatus* status) {
  const FakeStream* const on = of(stream);
  if (on == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *status = on->capture == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}
namespace {
thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
thread_local int t_captures = 0;  // begun here and not ended
}  // namespace

CUresult emulator_exchange_capture_mode(CUstreamCaptureMode* mode) { return std::swap(t_mode, *mode), CUDA_SUCCESS; }
bool unsafe_calls_allowed() { return t_captures <= 0 || t_mode == CU_STREAM_CAPTURE_MODE_RELAXED; }

CUresult emulator_begin_capture(CUstream stream, CUstreamCaptureMode) {
  if (stream == nullptr || of(stream)->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  ++t_captures;
  of(stream)->capture = std::make_shared<Capture>();
  of(stream)->capture->members = {of(stream)};
  return CUDA_SUCCESS;
}
CUresult emulator_end_capture(CUstream stream, CUgraph* graph) {
  const FakeStream* const on = of(stream);
  if (on == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const std::shared_ptr<Capture> capture = on->capture;
  if (capture == nullptr || capture->members.front() != on) return CUDA_ERROR_ILLEGAL_STATE;
  --t_captures;
  std::vector<uint8_t> joined(capture->graph.nodes.size(), 0);
  for (const size_t tail : on->tails) joined[tail] = 1;
  for (size_t n = joined.size(); n-- > 0;)
    for (const size_t before : capture->graph.nodes[n].after) joined[before] |= joined[n];
  for (FakeStream* const member : capture->members) {
    member->capture = nullptr;
    member->tails.clear();
  }
  if (std::find(joined.begin(), joined.end(), 0) != joined.end()) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  *graph = reinterpret_cast<CUgraph>(new Graph(std::move(capture->graph)));
  return CUDA_SUCCESS;
}

CUresult emulator_event_create(CUevent* event, unsigned flags) {
  if (current_emulated() == kNoDevice) return CUDA_ERROR_INVALID_CONTEXT;
  auto* const made = new FakeEvent;
  made->device = current_emulated();
  made->tells_time = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  return *event = reinterpret_cast<CUevent>(made), CUDA_SUCCESS;
}
CUresult emulator_event_destroy(CUevent event) {
  delete reinterpret_cast<FakeEvent*>(event);
  return CUDA_SUCCESS;
}
CUresult emulator_event_record(CUevent event, CUstream stream) {
  const FakeStream* const on = of(stream);
  if (on == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (on->device != of(event).device) return CUDA_ERROR_INVALID_HANDLE;
  of(event).recorded = true;
  of(event).at = FakeEvent::Clock::now();
  of(event).capture = on->capture;
  of(event).captured = on->capture != nullptr;
  of(event).tails = on->tails;
  return CUDA_SUCCESS;
}
// External: in a capture a node of the graph, so that each replay tells the event its time.
CUresult emulator_event_record_with_flags(CUevent event, CUstream stream, unsigned flags) {
  static const char kMark = 0;
  const FakeStream* const on = of(stream);
  if (on == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const bool external = (flags & CU_EVENT_RECORD_EXTERNAL) != 0;
  if (external != (on->capture != nullptr))
    return external ? CUDA_ERROR_INVALID_VALUE : emulator_event_record(event, stream);
  if (!external) return emulator_event_record(event, stream);
  if (on->device != of(event).device) return CUDA_ERROR_INVALID_HANDLE;
  return put_work(stream, {&kMark, [event] {
                             of(event).recorded = true;
                             of(event).captured = false;
                             of(event).at = FakeEvent::Clock::now();
                             return CUDA_SUCCESS;
                           }});
}
CUresult emulator_event_synchronize(CUevent) { return CUDA_SUCCESS; }
CUresult emulator_event_elapsed(float* ms, CUevent from, CUevent to) {
  const FakeEvent &a = of(from), &b = of(to);
  if (!a.tells_time || !b.tells_time || !a.recorded || !b.recorded || a.captured || b.captured)
    return CUDA_ERROR_INVALID_HANDLE;
  return *ms = std::chrono::duration<float, std::milli>(b.at - a.at).count(), CUDA_SUCCESS;
}
CUresult emulator_wait_event(CUstream stream, CUevent event, unsigned) {
  FakeStream* const waiting = of(stream);
  if (waiting == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  FakeStream& on = *waiting;
  const std::shared_ptr<Capture> capture = of(event).capture.lock();
  if (!of(event).captured) return refuse_in_capture(stream);  // what it stands for was done at once
  if (capture == nullptr || stream == nullptr) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  if (on.capture == nullptr) {
    on.capture = capture;
    capture->members.push_back(&on);
  }
  if (on.capture != capture) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  merge(on.tails, of(event).tails);
  return CUDA_SUCCESS;
}

CUresult emulator_instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  auto* const made = new Graph(of(graph));
  put_in_order(*made);
  return *exec = reinterpret_cast<CUgraphExec>(made), CUDA_SUCCESS;
}
CUresult emulator_update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo*) {
  const std::vector<Node>&have = of(exec).nodes, &want = of(graph).nodes;
  const bool same = std::equal(have.begin(), have.end(), want.begin(), want.end(), [](const Node& a, const Node& b) {
    return a.work.what == b.work.what && a.after == b.after;
  });
  if (!same) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  of(exec) = of(graph);
  put_in_order(of(exec));
  return CUDA_SUCCESS;
}
CUresult emulator_graph_launch(CUgraphExec exec, CUstream stream) {
  const Graph& graph = of(exec);
  FakeStream* const found = of(stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  FakeStream& on = *found;
  for (const Node& node : graph.nodes)
    if (node.work.device != kNoDevice && node.work.device != on.device) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard<std::recursive_mutex> lock(g_work);
  if (on.capture != nullptr) {  // one after the other, as they were put in order
    for (const size_t n : graph.order) append(on, graph.nodes[n].work, on.tails);
    return CUDA_SUCCESS;
  }
  for (const size_t n : graph.order)
    if (const CUresult result = graph.nodes[n].work.run(); result != CUDA_SUCCESS) return result;
  return CUDA_SUCCESS;
}
CUresult emulator_graph_destroy(CUgraph graph) {
  delete reinterpret_cast<Graph*>(graph);
  return CUDA_SUCCESS;
}
CUresult emulator_exec_destroy(CUgraphExec exec) {
  delete reinterpret_cast<Graph*>(exec);
  return CUDA_SUCCESS;
}

}  // namespace wootz::cuda
