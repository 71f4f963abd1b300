// What the process has had the device do, for tests and reports.
#pragma once

#include <atomic>

namespace wootz::cuda {

struct RecordingCounts {
  long made = 0, updated = 0, replayed = 0;  // CUDA graphs: instantiated, given other addresses, launched
  long modules = 0;                          // generated kernels that were compiled, or loaded from where they are kept
};
RecordingCounts recording_counts();

struct WorkCounters {
  std::atomic<long> made{0}, updated{0}, replayed{0}, modules{0};
};
WorkCounters& work_counters();  // for those who do the work

}  // namespace wootz::cuda
