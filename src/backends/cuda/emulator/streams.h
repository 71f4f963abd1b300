// Streams, events and graphs of the emulator: work put on a stream is done at once, or recorded while the stream is
// captured. A recording knows what comes after what, and is replayed in a random order among those that this allows.
#pragma once

#include <functional>
#include <vector>

#include "backends/cuda/emulator/contexts.h"

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

CUresult emulator_stream_create(CUstream* stream, unsigned flags);
CUresult emulator_stream_destroy(CUstream stream);
CUresult emulator_stream_context(CUstream stream, CUcontext* context);
CUresult emulator_is_capturing(CUstream stream, CUstreamCaptureStatus* status);
CUresult emulator_begin_capture(CUstream stream, CUstreamCaptureMode mode);
CUresult emulator_exchange_capture_mode(CUstreamCaptureMode* mode);
// Whether this thread may do what is refused to one that captures.
bool unsafe_calls_allowed();
CUresult emulator_end_capture(CUstream stream, CUgraph* graph);
CUresult emulator_event_create(CUevent* event, unsigned flags);
CUresult emulator_event_destroy(CUevent event);
CUresult emulator_event_record(CUevent event, CUstream stream);
CUresult emulator_event_record_with_flags(CUevent event, CUstream stream, unsigned flags);
CUresult emulator_event_synchronize(CUevent event);
CUresult emulator_event_elapsed(float* ms, CUevent from, CUevent to);
CUresult emulator_wait_event(CUstream stream, CUevent event, unsigned flags);
CUresult emulator_instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags);
CUresult emulator_update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info);
CUresult emulator_graph_launch(CUgraphExec exec, CUstream stream);
CUresult emulator_graph_destroy(CUgraph graph);
CUresult emulator_exec_destroy(CUgraphExec exec);

}  // namespace wootz::cuda
