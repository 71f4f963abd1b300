#include "backends/cuda/stand_in/streams.h"

#include <algorithm>
#include <chrono>
#include <memory>
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
  std::shared_ptr<Capture> capture;  // null: not being captured
  std::vector<size_t> tails;         // what the next node comes after
};
struct FakeEvent {
  using Clock = std::chrono::steady_clock;
  bool tells_time = true, recorded = false;
  Clock::time_point at;  // work is done when it is put on a stream: so is what is marked
  std::weak_ptr<Capture> capture;
  bool captured = false;
  std::vector<size_t> tails;
};

FakeStream& of(CUstream stream) {
  static FakeStream legacy;
  return stream == nullptr ? legacy : *reinterpret_cast<FakeStream*>(stream);
}
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
  FakeStream& on = of(stream);
  if (on.capture == nullptr) return work.run();
  append(on, std::move(work), on.tails);
  return CUDA_SUCCESS;
}

CUresult refuse_in_capture(CUstream stream) {
  return of(stream).capture == nullptr ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult stand_in_stream_create(CUstream* stream, unsigned) {
  return *stream = reinterpret_cast<CUstream>(new FakeStream), CUDA_SUCCESS;
}
CUresult stand_in_stream_destroy(CUstream stream) {
  delete reinterpret_cast<FakeStream*>(stream);
  return CUDA_SUCCESS;
}
CUresult stand_in_is_capturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = of(stream).capture == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}
CUresult stand_in_begin_capture(CUstream stream, CUstreamCaptureMode) {
  if (stream == nullptr || of(stream).capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  of(stream).capture = std::make_shared<Capture>();
  of(stream).capture->members = {&of(stream)};
  return CUDA_SUCCESS;
}
CUresult stand_in_end_capture(CUstream stream, CUgraph* graph) {
  const std::shared_ptr<Capture> capture = of(stream).capture;
  if (capture == nullptr || capture->members.front() != &of(stream)) return CUDA_ERROR_ILLEGAL_STATE;
  std::vector<uint8_t> joined(capture->graph.nodes.size(), 0);
  for (const size_t tail : of(stream).tails) joined[tail] = 1;
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

CUresult stand_in_event_create(CUevent* event, unsigned flags) {
  auto* const made = new FakeEvent;
  made->tells_time = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  return *event = reinterpret_cast<CUevent>(made), CUDA_SUCCESS;
}
CUresult stand_in_event_destroy(CUevent event) {
  delete reinterpret_cast<FakeEvent*>(event);
  return CUDA_SUCCESS;
}
CUresult stand_in_event_record(CUevent event, CUstream stream) {
  of(event).recorded = true;
  of(event).at = FakeEvent::Clock::now();
  of(event).capture = of(stream).capture;
  of(event).captured = of(stream).capture != nullptr;
  of(event).tails = of(stream).tails;
  return CUDA_SUCCESS;
}
CUresult stand_in_event_synchronize(CUevent) { return CUDA_SUCCESS; }
CUresult stand_in_event_elapsed(float* ms, CUevent from, CUevent to) {
  const FakeEvent &a = of(from), &b = of(to);
  if (!a.tells_time || !b.tells_time || !a.recorded || !b.recorded || a.captured || b.captured)
    return CUDA_ERROR_INVALID_HANDLE;
  return *ms = std::chrono::duration<float, std::milli>(b.at - a.at).count(), CUDA_SUCCESS;
}
CUresult stand_in_wait_event(CUstream stream, CUevent event, unsigned) {
  FakeStream& on = of(stream);
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

CUresult stand_in_instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  auto* const made = new Graph(of(graph));
  put_in_order(*made);
  return *exec = reinterpret_cast<CUgraphExec>(made), CUDA_SUCCESS;
}
CUresult stand_in_update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo*) {
  const std::vector<Node>&have = of(exec).nodes, &want = of(graph).nodes;
  const bool same = std::equal(have.begin(), have.end(), want.begin(), want.end(), [](const Node& a, const Node& b) {
    return a.work.what == b.work.what && a.after == b.after;
  });
  if (!same) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  of(exec) = of(graph);
  put_in_order(of(exec));
  return CUDA_SUCCESS;
}
CUresult stand_in_graph_launch(CUgraphExec exec, CUstream stream) {
  const Graph& graph = of(exec);
  FakeStream& on = of(stream);
  if (on.capture != nullptr) {  // one behind the other, as they were put in order
    for (const size_t n : graph.order) append(on, graph.nodes[n].work, on.tails);
    return CUDA_SUCCESS;
  }
  for (const size_t n : graph.order)
    if (const CUresult result = graph.nodes[n].work.run(); result != CUDA_SUCCESS) return result;
  return CUDA_SUCCESS;
}
CUresult stand_in_graph_destroy(CUgraph graph) {
  delete reinterpret_cast<Graph*>(graph);
  return CUDA_SUCCESS;
}
CUresult stand_in_exec_destroy(CUgraphExec exec) {
  delete reinterpret_cast<Graph*>(exec);
  return CUDA_SUCCESS;
}

}  // namespace wootz::cuda
