// The backend "cuda": NVIDIA GPUs, through the driver's own interface.
#pragma once

#include "backend/backend.h"

namespace wootz {

const Backend& cuda_backend();

}  // namespace wootz
