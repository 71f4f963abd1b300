// The backend "cuda": one NVIDIA GPU, through the driver's own interface.
#pragma once

#include "backend/device.h"

namespace wootz {

const Backend& cuda_backend();

}  // namespace wootz
