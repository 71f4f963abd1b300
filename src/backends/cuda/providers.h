// Who computes on the GPU.
#pragma once

#include "backend/kernel.h"

namespace wootz::cuda {

const Provider& generated_provider();  // kernels written for the problem at hand, compiled by NVRTC
const Provider& cublaslt_provider();
const Provider& cudnn_provider();

}  // namespace wootz::cuda
