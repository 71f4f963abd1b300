// What the driver knows of an address, or a stream, that the application gave.
#pragma once

#include "backends/cuda/device/gpu.h"

namespace wootz::cuda {

// Whether kernels of this GPU may read and write there: memory of this device, managed memory, host memory registered
// with CUDA, or any host memory where the GPU reaches all of it.
Status check_pointer(const Gpu& gpu, const void* address);

// Whether the stream is this GPU's; default streams belong to the context that is current. Errors name both GPUs.
Status check_stream(const Gpu& gpu, CUstream stream);

// Whether it is device memory that the host cannot touch. Asks the driver only where the process has loaded it already.
bool holds_pointer(const void* address);

}  // namespace wootz::cuda
