// What the driver knows of an address that the application gave.
#pragma once

#include "backends/cuda/driver.h"

namespace wootz::cuda {

// Whether kernels of this GPU may read and write there: memory of this device, managed memory, host memory registered
// with CUDA, or any host memory where the GPU reaches all of it.
Status check_pointer(const Gpu& gpu, const void* address);

// Whether it is device memory that the host cannot touch. Asks the driver only where the process has loaded it already.
bool holds_pointer(const void* address);

}  // namespace wootz::cuda
