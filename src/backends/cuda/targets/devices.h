// GPUs that can be built for without having them, by name.
#pragma once

#include <vector>

#include "backend/backend.h"

namespace wootz::cuda {

std::vector<DeviceDescription> known_devices();  // from devices.def

// 90 of "sm_90"; 0 when it is none.
int capability_of(const DeviceDescription& device);

}  // namespace wootz::cuda
