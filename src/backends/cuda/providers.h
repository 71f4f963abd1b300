// Who computes on the GPU.
#pragma once

#include "backend/kernel.h"

namespace wootz::cuda {

const Provider& generated_provider();  // kernels written for the problem at hand, compiled by NVRTC
const Provider& selecting_provider();  // results as many as are found: the host waits to learn the number
const Provider& cublaslt_provider();
const Provider& cudnn_provider();
const Provider& apart_provider();  // two steps of a chain one after the other, by the above
const Provider& nccl_provider();   // what several GPUs compute together

}  // namespace wootz::cuda
