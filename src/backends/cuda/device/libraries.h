// The libraries that this backend opens at run time, for reports.
#pragma once

#include "backend/libraries.h"

namespace wootz::cuda {

// Driver, NVRTC, cuBLASLt, cuDNN and NCCL. `elsewhere`: for building for a device that is not here.
std::vector<LibraryState> library_states(bool elsewhere);

}  // namespace wootz::cuda
