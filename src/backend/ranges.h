// Ranges for tools that look at what a process does (Nsight Systems): each inference, and each layer while it is
// recorded or put on a stream by itself.
#pragma once

#include "backend/device.h"

namespace wootz {

// Null unless a tool has itself loaded into the process (NVTX_INJECTION64_PATH), or WOOTZ_NVTX is set: "1" the same,
// "layers" also runs layers one by one, so that their ranges hold their launches.
const RangeHooks* nvtx_ranges();

}  // namespace wootz
