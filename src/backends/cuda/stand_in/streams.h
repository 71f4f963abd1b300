// Streams, events and graphs of the stand-in: work put on a stream is done at once, or recorded while the stream is
// captured. A recording knows what comes after what, and is replayed in a random order among those that this allows.
#pragma once

#include <functional>
#include <vector>

#include "backends/cuda/stand_in/contexts.h"

namespace wootz::cuda {

struct Work {
  const void* what = nullptr;  // the same for the same kernel: a graph is updated only by one of the same work
  std::function<CUresult()> run;
  int device = kNoDevice;  // whose streams take it; kNoDevice: any
};

// Does it, or records it.
CUresult put_work(CUstream stream, Work work);
// An error for a stream that is captured: for what waits.
CUresult refuse_in_capture(CUstream stream);

CUresult stand_in_stream_create(CUstream* stream, unsigned flags);
CUresult stand_in_stream_destroy(CUstream stream);
CUresult stand_in_stream_context(CUstream stream, CUcontext* context);
CUresult stand_in_is_capturing(CUstream stream, CUstreamCaptureStatus* status);
CUresult stand_in_begin_capture(CUstream stream, CUstreamCaptureMode mode);
CUresult stand_in_end_capture(CUstream stream, CUgraph* graph);
CUresult stand_in_event_create(CUevent* event, unsigned flags);
CUresult stand_in_event_destroy(CUevent event);
CUresult stand_in_event_record(CUevent event, CUstream stream);
CUresult stand_in_event_synchronize(CUevent event);
CUresult stand_in_event_elapsed(float* ms, CUevent from, CUevent to);
CUresult stand_in_wait_event(CUstream stream, CUevent event, unsigned flags);
CUresult stand_in_instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags);
CUresult stand_in_update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info);
CUresult stand_in_graph_launch(CUgraphExec exec, CUstream stream);
CUresult stand_in_graph_destroy(CUgraph graph);
CUresult stand_in_exec_destroy(CUgraphExec exec);

}  // namespace wootz::cuda
