#include "backends/cuda/stand_in/streams.h"

namespace wootz::cuda {
namespace {

using Graph = std::vector<Work>;
struct FakeStream {
  Graph* captured = nullptr;  // null: not being captured
};

FakeStream& of(CUstream stream) {
  static FakeStream legacy;
  return stream == nullptr ? legacy : *reinterpret_cast<FakeStream*>(stream);
}
Graph& of(CUgraph graph) { return *reinterpret_cast<Graph*>(graph); }
Graph& of(CUgraphExec exec) { return *reinterpret_cast<Graph*>(exec); }

}  // namespace

CUresult put_work(CUstream stream, Work work) {
  if (Graph* const graph = of(stream).captured) {
    graph->push_back(std::move(work));
    return CUDA_SUCCESS;
  }
  return work.run();
}

CUresult refuse_in_capture(CUstream stream) {
  return of(stream).captured == nullptr ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult stand_in_stream_create(CUstream* stream, unsigned) {
  return *stream = reinterpret_cast<CUstream>(new FakeStream), CUDA_SUCCESS;
}
CUresult stand_in_stream_destroy(CUstream stream) {
  delete reinterpret_cast<FakeStream*>(stream);
  return CUDA_SUCCESS;
}
CUresult stand_in_is_capturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = of(stream).captured == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}
CUresult stand_in_begin_capture(CUstream stream, CUstreamCaptureMode) {
  if (stream == nullptr || of(stream).captured != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  of(stream).captured = new Graph;
  return CUDA_SUCCESS;
}
CUresult stand_in_end_capture(CUstream stream, CUgraph* graph) {
  if (of(stream).captured == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  *graph = reinterpret_cast<CUgraph>(of(stream).captured);
  of(stream).captured = nullptr;
  return CUDA_SUCCESS;
}
CUresult stand_in_instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  return *exec = reinterpret_cast<CUgraphExec>(new Graph(of(graph))), CUDA_SUCCESS;
}
CUresult stand_in_update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo*) {
  const Graph &have = of(exec), &want = of(graph);
  bool same = have.size() == want.size();
  for (size_t i = 0; same && i < have.size(); ++i) same = have[i].what == want[i].what;
  if (!same) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  of(exec) = want;
  return CUDA_SUCCESS;
}
CUresult stand_in_graph_launch(CUgraphExec exec, CUstream stream) {
  for (const Work& work : of(exec)) {
    if (Graph* const outer = of(stream).captured)
      outer->push_back(work);
    else if (const CUresult result = work.run(); result != CUDA_SUCCESS)
      return result;
  }
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
