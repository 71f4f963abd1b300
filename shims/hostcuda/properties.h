// What the one device says of itself: the machine's processor and memory in the terms of a GPU.
#pragma once

#include <cstddef>
#include <string>

#include "driver_types.h"

namespace wootz::hostcuda {

// Programs choose by it what they launch; they cannot launch anything here.
inline constexpr int kComputeMajor = 8, kComputeMinor = 0;
inline constexpr char kBusId[] = "0000:00:00.0";

std::string device_name();
int processors();

}  // namespace wootz::hostcuda
