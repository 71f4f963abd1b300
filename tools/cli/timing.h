// Inferences one by one with the times of their parts, as trtexec measures them.
#pragma once

#include <optional>
#include <vector>

#include "session.h"

namespace wootz_cli {

struct TimingOptions {
  int iterations = 10;
  double seconds = 3, warmup_ms = 200, idle_ms = 0;
  double sleep_ms = 0;         // before the first inference
  bool transfers = true;       // of inputs and outputs, where the engine is on a device
  bool overlap = true;         // they run beside the inference before, which the next one is not waited for
  bool threads = false;        // each session is driven by a thread of its own; on the processor always
  bool sleeping_wait = false;  // for a device; otherwise the host spins
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
  std::vector<Query> queries;  // without those that warmed up, as they began
  size_t warmups = 0;
  bool on_device = false;
  // From the beginning of the first query to the end of the last.
  double wall_ms() const;
};

// Until each session has had so many queries and so many seconds have passed, after warming up. The sessions run side
// by side, and are of one engine.
Trace trace_inferences(const std::vector<Session*>& sessions, const TimingOptions& options);

}  // namespace wootz_cli
