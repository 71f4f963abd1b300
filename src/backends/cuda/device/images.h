// Kernels that an application brings along, as PTX or machine code.
#pragma once

#include "backend/kernel_image.h"
#include "backends/cuda/device/gpu.h"

namespace wootz::cuda {

// Loads the image for the GPU when it is first run there. Errors: what the driver says; the emulator runs sources with
// one function wootz_kernel alone, in blocks of one dimension.
Status launch_image(const Gpu& gpu, KernelImage& image, const KernelLaunch& launch, CUstream stream);

}  // namespace wootz::cuda
