// Inferences one by one with the times of their parts, as trtexec measures them.
#pragma once

#include <vector>

#include "session.h"

namespace wootz_cli {

struct TimingOptions {
  int iterations = 10;
  double seconds = 3, warmup_ms = 200, idle_ms = 0;
  bool transfers = true;  // of inputs and outputs, where the engine is on a device
  bool overlap = true;    // they run beside the inference before, which the next one is not waited for
};

// Milliseconds since measuring began.
struct Span {
  double start = 0, end = 0;
  double ms() const { return end - start; }
};
struct Query {
  Span enqueue;            // by the host's clock
  Span h2d, compute, d2h;  // by the device's
  double latency() const { return h2d.ms() + compute.ms() + d2h.ms(); }
};
struct Trace {
  std::vector<Query> queries;  // without those that warmed up
  size_t warmups = 0;
  bool on_device = false;
  // From the beginning of the first query to the end of the last.
  double wall_ms() const { return queries.empty() ? 0 : queries.back().d2h.end - queries.front().h2d.start; }
};

// Until there are so many queries and so many seconds have passed, after warming up.
Trace trace_inferences(Session& session, const TimingOptions& options);

}  // namespace wootz_cli
