#include "backends/cuda/device/counts.h"

namespace wootz::cuda {

WorkCounters& work_counters() {
  static WorkCounters all;
  return all;
}

RecordingCounts recording_counts() {
  const WorkCounters& c = work_counters();
  return {c.made, c.updated, c.replayed, c.modules};
}

}  // namespace wootz::cuda
