// What kernels that normalize rows in packs of neighbours share (kernels/norm/kept.cuh).
#pragma once

#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {

// Parameters, parameters() and scaled(). `scale`, `bias`: inputs of a row's length; -1: none.
void add_row_parameters(const Problem& problem, int scale, int bias, KernelSource* source);

}  // namespace wootz::cuda
