// Tensor maps as the emulator writes and its kernels read them (gemm/feed.cuh).
#pragma once

#include "backends/cuda/api/driver.h"

namespace wootz::cuda {

CUresult encode_matrix(CUtensorMap* map, CUtensorMapDataType, unsigned rank, void* address,
                       const unsigned long long* extents, const unsigned long long* strides, const unsigned* box,
                       const unsigned* steps, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                       CUtensorMapFloatOOBfill);
CUresult encode_windows(CUtensorMap* map, CUtensorMapDataType, unsigned rank, void* address,
                        const unsigned long long* extents, const unsigned long long* strides, const int* lower,
                        const int* upper, unsigned channels, unsigned lines, const unsigned* steps,
                        CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

}  // namespace wootz::cuda
