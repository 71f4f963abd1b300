// Auxiliary streams: which steps of a program run concurrently with others. What gains is measured, on the whole
// network: whether two kernels fit a device together, and what forks and joins cost there, no estimate tells.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/kernel_cache.h"
#include "backend/program.h"
#include "base/log.h"
#include "runtime/stream_order.h"
#include "tuner/cache/timing_cache.h"

namespace wootz {

struct StreamCosts {
  double wait_us = 1.5;  // a step that uses a result of another stream begins so much later
  double gain_us = 2;    // a step that could begin so much earlier elsewhere goes there
};

// A stream for every step, by list scheduling in the program's order: a step stays where the last of its operands is
// made, unless another stream (of `most` at all) is free early enough. `needs` as step_needs(). `done_us`: when the
// last step ends by that.
StepStreams propose_streams(const StepNeeds& needs, const IndexedVector<StepIndex, double>& us, size_t most,
                            const StreamCosts& costs, double* done_us = nullptr);

struct StreamOptions {
  int most = -1;                        // auxiliary streams; -1: as many as gain something, at most three
  bool measure = true;                  // else, and without a device or the cache's times: by `us`
  IndexedVector<StepIndex, double> us;  // of the program's steps
  std::shared_ptr<Device> device;       // to measure on; null: not here, only the cache can tell
  std::function<Status()> before;       // called before something is measured; null: nothing
  KernelCache* kernels = nullptr;       // of the build
  TimingCache* cache = nullptr;         // consulted and filled
  std::string isa;                      // for the cache
  const Log* log = &silent_log();
};

// Sets Step::stream of every step. Programs of data-dependent sizes, with steps on the host, or of
// several devices, keep one stream.
Status choose_streams(const std::shared_ptr<Program>& program, const StreamOptions& options);

}  // namespace wootz
