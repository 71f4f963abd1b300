// GPUs that can be built for without having them, by name.
#pragma once

#include <vector>

#include "backend/device.h"

namespace wootz::cuda {

std::vector<DeviceDescription> known_devices();  // from devices.def

// The device built for, when it is another than the one at hand (or there is none at hand); null otherwise.
const DeviceDescription* built_elsewhere(const Limits& limits);

// 90 of "sm_90"; 0 when it is none.
int capability_of(const DeviceDescription& device);

}  // namespace wootz::cuda
