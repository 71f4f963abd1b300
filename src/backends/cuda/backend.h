// The backend "cuda": one NVIDIA GPU, through the driver's own interface.
#pragma once

#include "backend/device.h"

namespace wootz {

const Backend& cuda_backend();

namespace cuda {

// What the process has had done so far.
struct RecordingCounts {
  long made = 0, updated = 0, replayed = 0;  // CUDA graphs: instantiated, given other addresses, launched
  long modules = 0;                          // generated kernels that were compiled, or loaded from where they are kept
};
RecordingCounts recording_counts();
void count_module();

}  // namespace cuda

}  // namespace wootz
